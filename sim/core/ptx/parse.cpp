#include "core/ptx/parse.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "core/ptx/lexer.h"

namespace sim::ptx {
namespace {

constexpr size_t max_scopes = 64;
constexpr size_t max_registers = 1 << 20;
constexpr uint64_t max_alignment = uint64_t{1} << 20;
constexpr uint64_t max_variable_bytes = uint64_t{1} << 31;

/// Bytes of a fundamental type's name without its dot; 0 for what is none.
uint32_t type_bytes(std::string_view type) {
  static const std::unordered_map<std::string_view, uint32_t> bytes = {
      {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2},   {"u16", 2},    {"s16", 2}, {"f16", 2}, {"bf16", 2}, {"b32", 4},
      {"u32", 4}, {"s32", 4}, {"f32", 4}, {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8},  {"f64", 8}};
  const auto found = bytes.find(type);
  return found == bytes.end() ? 0 : found->second;
}

/// A place in a source file as `.loc` gives it: file, line, column.
using Place = std::tuple<uint32_t, uint32_t, uint32_t>;

/// One `{}` of a function's body.
struct Scope {
  struct Range {
    uint32_t first, count;
  };
  std::unordered_map<std::string_view, uint32_t> registers;
  std::unordered_map<std::string_view, Range> ranges;  ///< `%r<74>`, by prefix
  std::unordered_map<std::string_view, uint32_t> variables;
  std::unordered_map<std::string_view, uint32_t> labels;
  std::unordered_map<std::string_view, std::vector<std::string_view>> branch_targets;  ///< of `brx.idx`, by label
  struct Jump {
    size_t instruction, operand;
    std::string_view label;
    Token at;
  };
  std::vector<Jump> jumps;
};

class Parser {
 public:
  Parser(std::string_view text, std::optional<std::string_view> only) : lexer_(text), only_(only) {}

  Module module() {
    while (lexer_.peek().kind != Token::Kind::end) top_level();
    return std::move(module_);
  }

 private:
  // --- module -------------------------------------------------------------------------------------------------------

  void top_level() {
    const Token& token = lexer_.peek();
    if (token.is(";")) {
      lexer_.take();
      return;
    }
    if (token.kind != Token::Kind::directive) lexer_.fail("expected a directive");
    if (token.is(".version")) return version();
    if (token.is(".target")) return target();
    if (token.is(".address_size")) return address_size();
    if (token.is(".file")) return file();
    if (token.is(".section")) return section();
    declaration();
  }

  void version() {
    lexer_.take();
    const uint32_t major = static_cast<uint32_t>(integer());
    const std::string_view minor = lexer_.take().text;
    if (minor.size() != 2 || minor[0] != '.' || minor[1] < '0' || minor[1] > '9' || major > 99)
      lexer_.fail("expected a version such as 9.0");
    module_.version = 10 * major + static_cast<uint32_t>(minor[1] - '0');
  }

  void target() {
    lexer_.take();
    module_.target = lexer_.take().text;
    while (lexer_.accept(',')) lexer_.take();
  }

  void address_size() {
    lexer_.take();
    if (integer() != 64) lexer_.fail("only 64-bit addresses are modelled");
  }

  void file() {
    lexer_.take();
    const uint64_t index = integer();
    if (index > 100000) lexer_.fail("a file index out of range");
    if (lexer_.peek().kind != Token::Kind::string) lexer_.fail("expected a file name");
    if (module_.files.size() <= index) module_.files.resize(index + 1);
    module_.files[index] = lexer_.take().text;
    while (lexer_.accept(',')) integer();  // time stamp and size
  }

  void section() {
    while (!lexer_.peek().is('{')) skip_one();
    lexer_.skip_block();
  }

  void declaration() {
    bool external = false, exported = false;
    while (lexer_.peek().is(".extern") || lexer_.peek().is(".visible") || lexer_.peek().is(".weak") ||
           lexer_.peek().is(".common")) {
      (lexer_.take().is(".extern") ? external : exported) = true;
    }
    if (lexer_.peek().is(".entry")) return kernel();
    if (lexer_.peek().is(".func")) return device_function(exported);
    Variable variable = this->variable(external);
    variable.external = external;
    variable.exported = exported;
    module_names_[intern(variable.name)] = module_.variables.size();
    module_.variables.push_back(variable);
    lexer_.expect(';');
  }

  /// `.func (.param .b32 result) name (.param .b64 parameter) {…}`.
  void device_function(bool exported) {
    begin_function();
    function_.exported = exported;
    if (lexer_.peek().is('(')) parameters();
    function_.result_count = function_.variables.size();
    function_.name = word();
    if (lexer_.peek().is('(')) parameters();
    function_.parameter_count = function_.variables.size() - function_.result_count;
    while (!lexer_.peek().is(';') && !lexer_.peek().is('{')) skip_one();  // .noreturn and its like
    if (lexer_.accept(';')) return;                                       // a declaration only
    body();
    module_.functions.push_back(std::move(function_));
  }

  void skip_one() {
    if (lexer_.take().kind == Token::Kind::end) lexer_.fail("the text ends too early");
  }

  uint64_t integer() {
    if (lexer_.peek().kind != Token::Kind::integer) lexer_.fail("expected a whole number");
    return lexer_.take().value;
  }

  std::string_view word() {
    if (lexer_.peek().kind != Token::Kind::word) lexer_.fail("expected a name");
    return lexer_.take().text;
  }

  /// A copy of a name that lives as long as the parser, for use as a key.
  std::string_view intern(const std::string& name) {
    return names_.emplace_back(std::make_unique<std::string>(name)).get()->c_str();
  }

  // --- variables ----------------------------------------------------------------------------------------------------

  Space space() {
    const std::string_view text = lexer_.take().text;
    if (text == ".global") return Space::global;
    if (text == ".const") return Space::constant;
    if (text == ".shared") return Space::shared;
    if (text == ".local") return Space::local;
    if (text == ".param") return Space::param;
    lexer_.fail("expected a state space before this");
  }

  /// `.global .align 4 .b8 name[12] = {…}`, up to but without what ends it.
  Variable variable(bool external) {
    Variable variable;
    variable.space = space();
    uint64_t element = 0, lanes = 1;
    while (lexer_.peek().kind == Token::Kind::directive) {
      const Token token = lexer_.take();
      if (token.is(".align"))
        variable.align = integer();
      else if (token.is(".ptr"))
        continue;  // `.param .u64 .ptr .global .align 4 x`: what it points to
      else if (token.is(".attribute"))
        attribute();
      else if (token.is(".global") || token.is(".const") || token.is(".shared")) {
        if (variable.space != Space::param) lexer_.fail("two state spaces");
        if (lexer_.peek().is(".align")) lexer_.take(), integer();
      } else if (token.is(".v2"))
        lanes = 2;
      else if (token.is(".v4"))
        lanes = 4;
      else if (const uint32_t bytes = type_bytes(token.text.substr(1)))
        element = bytes;
      else
        lexer_.fail("unknown attribute '" + std::string(token.text) + "' before this");
    }
    if (element == 0) lexer_.fail("expected a type");
    if (variable.align == 0 || variable.align > max_alignment || (variable.align & (variable.align - 1)))
      lexer_.fail("an alignment that is no power of two");
    variable.align = std::max(variable.align, element * lanes);
    variable.name = word();
    uint64_t count = lanes;
    while (lexer_.accept('[')) {
      if (lexer_.peek().is(']'))
        variable.dynamic = true;
      else
        count = checked_product(count, integer());
      lexer_.expect(']');
    }
    variable.bytes = variable.dynamic ? 0 : checked_product(count, element);  // of another text's array, one element
    if (variable.dynamic && !external) lexer_.fail("an array without a size");
    variable.dynamic &= variable.space == Space::shared;
    if (lexer_.accept('=')) initial(variable, element);
    return variable;
  }

  /// `.attribute(.managed)`: all memory is, here.
  void attribute() {
    lexer_.expect('(');
    if (!lexer_.take().is(".managed")) lexer_.fail("an attribute other than .managed before this");
    lexer_.expect(')');
  }

  uint64_t checked_product(uint64_t a, uint64_t b) const {
    if (b != 0 && a > max_variable_bytes / b) lexer_.fail("a variable larger than 2 GiB");
    return a * b;
  }

  void initial(Variable& variable, uint64_t element) {
    variable.initial.resize(variable.bytes);
    uint64_t at = 0;
    const auto one = [&] {
      if (lexer_.peek().kind == Token::Kind::word) {
        if (element != 8 || at + element > variable.bytes) lexer_.fail("an address where there is no room for it");
        variable.pointers.push_back(pointer(at));
        at += element;
        return;
      }
      const bool negative = lexer_.accept('-');
      const Token token = lexer_.take();
      if (token.kind != Token::Kind::integer && token.kind != Token::Kind::float32 &&
          token.kind != Token::Kind::float64) {
        lexer_.fail("an initial value that is not a number");
      }
      const uint64_t value = negative ? -token.value : token.value;
      if (at + element > variable.bytes) lexer_.fail("more initial values than elements");
      std::memcpy(variable.initial.data() + at, &value, element);
      at += element;
    };
    if (!lexer_.accept('{')) return one();
    for (int depth = 1; depth > 0;) {
      if (lexer_.accept('{'))
        ++depth;
      else if (lexer_.accept('}'))
        --depth, lexer_.accept(',');
      else
        one(), lexer_.accept(',');
    }
  }

  /// `name`, or `generic(name)`, with an offset if need be.
  Variable::Pointer pointer(uint64_t offset) {
    std::string_view name = word();
    const bool generic = name == "generic" && lexer_.accept('(');
    if (generic) name = word();
    uint64_t addend = lexer_.accept('+') ? integer() : 0;
    if (generic) {
      lexer_.expect(')');
      if (lexer_.accept('+')) addend = integer();
    }
    return {offset, std::string(name), addend};
  }

  // --- functions ----------------------------------------------------------------------------------------------------

  void kernel() {
    begin_function();
    function_.name = word();
    if (lexer_.peek().is('(')) parameters();
    function_.parameter_count = function_.variables.size();
    while (!lexer_.peek().is('{') && !lexer_.peek().is(';')) launch_bounds();
    if (lexer_.accept(';')) return;  // a declaration only
    if (std::find(module_.kernel_names.begin(), module_.kernel_names.end(), function_.name) !=
        module_.kernel_names.end())
      lexer_.fail("kernel '" + function_.name + "' is defined a second time");
    module_.kernel_names.push_back(function_.name);
    if (only_ && *only_ != function_.name) return lexer_.skip_block();
    body();
    module_.kernels.push_back(std::move(function_));
  }

  void begin_function() {
    lexer_.take();
    function_ = Function{};
    scopes_.assign(1, Scope{});
    called_from_.clear();
    location_ = {};
  }

  void parameters() {
    lexer_.expect('(');
    while (!lexer_.accept(')')) {
      declare(variable(false));
      lexer_.accept(',');
    }
  }

  void body() {
    lexer_.expect('{');
    while (!lexer_.accept('}')) statement();
    close_scope();
  }

  void launch_bounds() {
    const Token token = lexer_.take();
    if (token.is(".maxntid") || token.is(".reqntid")) {
      uint64_t threads = integer();
      while (lexer_.accept(',')) threads = checked_product(threads, integer());
      function_.max_threads = static_cast<uint32_t>(threads);
    } else if (token.is(".minnctapersm")) {
      function_.min_blocks = std::max<uint32_t>(1, static_cast<uint32_t>(integer()));
    } else if (token.is(".maxnreg")) {
      function_.max_registers = static_cast<uint32_t>(integer());
    } else if (token.is(".reqnctapercluster")) {
      function_.cluster = {1, 1, 1};
      for (uint32_t i = 0; i < 3 && (i == 0 || lexer_.accept(',')); ++i)
        function_.cluster[i] = static_cast<uint32_t>(integer());
    } else if (token.is(".explicitcluster")) {
      function_.explicit_cluster = true;
    } else if (token.is(".maxnctapersm") || token.is(".maxclusterrank")) {
      integer();
    } else {
      lexer_.fail("unknown kernel directive '" + std::string(token.text) + "' before this");
    }
  }

  void declare(const Variable& variable) {
    scopes_.back().variables[intern(variable.name)] = static_cast<uint32_t>(function_.variables.size());
    function_.variables.push_back(variable);
  }

  void statement() {
    const Token& token = lexer_.peek();
    if (token.is('{')) {
      lexer_.take();
      if (scopes_.size() >= max_scopes) lexer_.fail("scopes nested too deep");
      scopes_.emplace_back();
      while (!lexer_.accept('}')) statement();
      close_scope();
    } else if (token.is(';')) {
      lexer_.take();
    } else if (token.is(".loc")) {
      loc();
    } else if (token.is(".reg") || (token.kind == Token::Kind::directive && token.text.starts_with(".reg."))) {
      registers();
    } else if (token.is(".pragma")) {
      lexer_.take(), lexer_.take(), lexer_.expect(';');
    } else if (token.kind == Token::Kind::directive) {
      declare(variable(false));
      lexer_.expect(';');
    } else if (token.kind == Token::Kind::word || token.is('@')) {
      instruction_or_label();
    } else {
      lexer_.fail("expected a statement");
    }
  }

  void registers() {
    const std::string_view directive = lexer_.take().text;  // `.reg .b32`, or `.reg.b32`
    const std::string_view type = directive == ".reg" ? lexer_.take().text : directive.substr(4);
    Width width;
    if (type == ".pred")
      width = Width::predicate;
    else if (const uint32_t bytes = type.empty() ? 0 : type_bytes(type.substr(1)); bytes >= 2)
      width = static_cast<Width>(bytes);
    else
      lexer_.fail("registers of an unknown type before this");
    do {
      const std::string_view name = word();
      uint64_t count = 1;
      const bool range = lexer_.accept('<');
      if (range) count = integer(), lexer_.expect('>');
      const auto first = static_cast<uint32_t>(function_.registers.size());
      if (count > max_registers - first) lexer_.fail("too many registers");
      if (range)
        scopes_.back().ranges[name] = {first, static_cast<uint32_t>(count)};
      else
        scopes_.back().registers[name] = first;
      for (uint64_t i = 0; i < count; ++i) {
        function_.registers.push_back({range ? std::string(name) + std::to_string(i) : std::string(name), width});
      }
    } while (lexer_.accept(','));
    lexer_.expect(';');
  }

  // --- source lines -------------------------------------------------------------------------------------------------

  Place place() {
    const auto file = static_cast<uint32_t>(integer());
    const auto line = static_cast<uint32_t>(integer());
    return {file, line, static_cast<uint32_t>(integer())};
  }

  /// Follows calls inlined into calls until the kernel's own file is reached. What stands at a place was called from
  /// where the last `.loc` of that place said: one helper may be called from many lines.
  Place kernels_own(Place caller, const Place& here) {
    called_from_[here] = caller;
    const uint32_t own = function_.location.line == 0 ? std::get<0>(here) : function_.location.file;
    for (int depth = 0; depth < 16 && std::get<0>(caller) != own; ++depth) {
      const auto outer = called_from_.find(caller);
      if (outer == called_from_.end()) break;
      caller = outer->second;
    }
    return caller;
  }

  /// `.loc 2 449 9, function_name $L__info_string0, inlined_at 1 42 3`. Line 0 is code that no line wrote: it stays
  /// with the last.
  void loc() {
    lexer_.take();
    const Place here = place();
    Location location{.file = std::get<0>(here), .line = std::get<1>(here)};
    if (lexer_.accept(',')) {
      if (word() != "function_name") lexer_.fail("expected function_name before this");
      word();
      if (lexer_.accept('+')) integer();
      lexer_.expect(',');
      if (word() != "inlined_at") lexer_.fail("expected inlined_at before this");
      const Place caller = kernels_own(place(), here);
      location.caller_file = std::get<0>(caller);
      location.caller_line = std::get<1>(caller);
    }
    if (location.line == 0) return;
    location_ = location;
    if (function_.location.line == 0) function_.location = location;
  }

  // --- instructions -------------------------------------------------------------------------------------------------

  void instruction_or_label() {
    const Token at = lexer_.peek();
    Instruction instruction{.location = location_, .text_line = at.line, .text_column = lexer_.column(at)};
    if (lexer_.accept('@')) {
      const bool negated = lexer_.accept('!');
      instruction.guard = name(word(), false);
      instruction.guard->negated = negated;
    }
    const std::string_view first = word();
    if (!instruction.guard && lexer_.accept(':')) {
      if (!scopes_.back().labels.emplace(first, function_.instructions.size()).second)
        lexer_.fail("a label given twice before this");
      if (lexer_.peek().is(".branchtargets")) branch_targets(first);
      if (lexer_.peek().is(".callprototype")) {  // of a call through a pointer, which is refused where it stands
        while (!lexer_.accept(';')) skip_one();
      }
      return;
    }
    instruction.opcode = first;
    const bool jumps = instruction.opcode == "bra" || instruction.opcode == "bra.uni";
    if (!lexer_.peek().is(';')) {
      do instruction.operands.push_back(operand(jumps));
      while (lexer_.accept(','));
    }
    lexer_.expect(';');
    if (instruction.opcode.starts_with("brx.idx")) list_targets(instruction);
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      if (instruction.operands[i].kind != Operand::Kind::label) continue;
      scopes_.back().jumps.push_back({function_.instructions.size(), i, intern(instruction.operands[i].text), at});
    }
    function_.instructions.push_back(std::move(instruction));
  }

  /// `name: .branchtargets A, B, C;`: where a `brx.idx` that names it may go.
  void branch_targets(std::string_view name) {
    lexer_.take();
    std::vector<std::string_view>& targets = scopes_.back().branch_targets[name];
    do targets.push_back(word());
    while (lexer_.accept(','));
    lexer_.expect(';');
  }

  /// `brx.idx %r1, name` becomes `brx.idx %r1, A, B, C`.
  void list_targets(Instruction& jump) {
    if (jump.operands.size() != 2 || jump.operands[1].kind != Operand::Kind::name)
      lexer_.fail("expected an index and a list of targets before this");
    const std::string name = jump.operands[1].text;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->branch_targets.find(name);
      if (found == scope->branch_targets.end()) continue;
      jump.operands.pop_back();
      for (const std::string_view target : found->second)
        jump.operands.push_back({.kind = Operand::Kind::label, .text = std::string(target)});
      return;
    }
    lexer_.fail("no targets '" + name + "' before this");
  }

  Operand operand(bool jumps) {
    if (lexer_.peek().is('{') || lexer_.peek().is('(')) return list();
    if (lexer_.accept('[')) return address();
    if (lexer_.accept('!')) {
      Operand negated = name(word(), false);
      negated.negated = true;
      return negated;
    }
    if (lexer_.peek().kind != Token::Kind::word) return number();
    Operand first = name(word(), jumps);
    if (!lexer_.accept('|')) return first;
    Operand pair{.kind = Operand::Kind::pair};
    pair.parts = {first, name(word(), false)};
    return pair;
  }

  /// `{a, b, c, d}`, or the parenthesised lists of a call.
  Operand list() {
    const char close = lexer_.take().is('{') ? '}' : ')';
    Operand list{.kind = Operand::Kind::vector};
    while (!lexer_.accept(close)) {
      if (lexer_.peek().is('{') || lexer_.peek().is('[') || lexer_.peek().is('(')) lexer_.fail("a list within a list");
      list.parts.push_back(operand(false));
      if (!lexer_.accept(',') && !lexer_.peek().is(close)) lexer_.fail("expected ',' in a list");
    }
    return list;
  }

  /// `[%rd1+16]`, `[name]`, `[name+4]`, `[4096]`, and a box of a tensor, `[map, {x, y}]`: the opening bracket is taken.
  Operand address() {
    Operand address{.kind = Operand::Kind::address};
    if (lexer_.peek().kind == Token::Kind::word)
      address.parts.push_back(name(word(), false));
    else
      address.value = integer();
    while (lexer_.peek().is('+') || lexer_.peek().is('-')) {
      bool negative = lexer_.take().is('-');
      if (lexer_.accept('-')) negative = !negative;
      const uint64_t offset = integer();
      address.value += negative ? -offset : offset;
    }
    if (lexer_.accept(',')) {
      if (address.parts.empty() || !lexer_.peek().is('{')) lexer_.fail("expected the coordinates of a tensor");
      address.parts.push_back(list());
    }
    lexer_.expect(']');
    return address;
  }

  Operand number() {
    const bool negative = lexer_.accept('-');
    const Token token = lexer_.take();
    switch (token.kind) {
      case Token::Kind::integer:
        return {.kind = Operand::Kind::integer, .value = negative ? -token.value : token.value};
      case Token::Kind::float32:
        return {.kind = Operand::Kind::float32, .value = token.value ^ (negative ? uint64_t{1} << 31 : 0)};
      case Token::Kind::float64:
        return {.kind = Operand::Kind::float64, .value = token.value ^ (negative ? uint64_t{1} << 63 : 0)};
      default: lexer_.fail("expected an operand before this");
    }
  }

  /// What a name stands for, innermost scope first.
  Operand name(std::string_view text, bool jumps) {
    if (jumps) return {.kind = Operand::Kind::label, .text = std::string(text)};
    if (text == "_") return {.kind = Operand::Kind::sink};
    if (text == "WARP_SZ") return {.kind = Operand::Kind::integer, .value = 32};
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = find_register(*scope, text)) return {.kind = Operand::Kind::reg, .index = *found};
      if (const auto found = scope->variables.find(text); found != scope->variables.end()) {
        return {.kind = Operand::Kind::variable, .index = found->second};
      }
    }
    if (text[0] == '%') return {.kind = Operand::Kind::special, .text = std::string(text)};
    if (const auto found = module_names_.find(text); found != module_names_.end()) {
      Variable variable = module_.variables[found->second];
      variable.initial.clear();
      variable.pointers.clear();
      scopes_.front().variables[found->first] = static_cast<uint32_t>(function_.variables.size());
      function_.variables.push_back(std::move(variable));
      return {.kind = Operand::Kind::variable, .index = static_cast<uint32_t>(function_.variables.size() - 1)};
    }
    return {.kind = Operand::Kind::name, .text = std::string(text)};
  }

  static std::optional<uint32_t> find_register(const Scope& scope, std::string_view text) {
    if (const auto found = scope.registers.find(text); found != scope.registers.end()) return found->second;
    size_t digits = text.size();
    while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9') --digits;
    if (digits == text.size() || text.size() - digits > 7) return std::nullopt;
    const auto range = scope.ranges.find(text.substr(0, digits));
    if (range == scope.ranges.end()) return std::nullopt;
    uint32_t number = 0;
    for (const char c : text.substr(digits)) number = 10 * number + static_cast<uint32_t>(c - '0');
    if (number >= range->second.count) return std::nullopt;
    return range->second.first + number;
  }

  /// Binds the scope's jumps to its labels; what it does not know is left to the scope around it.
  void close_scope() {
    Scope closed = std::move(scopes_.back());
    scopes_.pop_back();
    for (const auto& jump : closed.jumps) {
      if (const auto found = closed.labels.find(jump.label); found != closed.labels.end()) {
        function_.instructions[jump.instruction].operands[jump.operand].index = found->second;
      } else if (!scopes_.empty()) {
        scopes_.back().jumps.push_back(jump);
      } else {
        throw Refused(lexer_.place(jump.at) + ": no label '" + std::string(jump.label) + "' here");
      }
    }
  }

  Lexer lexer_;
  std::optional<std::string_view> only_;
  Module module_;
  std::unordered_map<std::string_view, size_t> module_names_;
  std::vector<std::unique_ptr<std::string>> names_;

  Function function_;
  std::vector<Scope> scopes_;
  std::map<Place, Place> called_from_;  ///< of inlined code, as the last `.loc` of a place said
  Location location_;
};

}  // namespace

Module parse(std::string_view text) { return Parser(text, std::nullopt).module(); }
Module parse(std::string_view text, std::string_view only) { return Parser(text, only).module(); }

}  // namespace sim::ptx
