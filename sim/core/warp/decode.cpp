#include "core/warp/decode.h"

#include <algorithm>

#include "core/base/readable.h"
#include "core/ptx/inline.h"
#include "core/ptx/overwrites.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Space;
using ptx::Width;

uint64_t aligned(uint64_t bytes, uint64_t align) { return (bytes + align - 1) / align * align; }

Width width_of_letter(char letter) {
  switch (letter | 0x20) {
    case 'p': return Width::predicate;
    case 'h': return Width::b16;
    case 'w': return Width::b32;
    default: return Width::b64;
  }
}

}  // namespace

std::string Program::where(const ptx::Location& location) const {
  if (location.line == 0 && location.text_line != 0) return ptx::place_in_text(location.text_line, 0);
  if (location.line == 0) return "an unknown line (no -lineinfo)";
  std::string file = location.file < files.size() ? files[location.file] : "?";
  size_t cut = file.size();
  for (int parts = 0; parts < 2 && cut != std::string::npos && cut > 0; ++parts) cut = file.rfind('/', cut - 1);
  if (cut != std::string::npos && cut > 0) file = file.substr(cut + 1);
  std::string text = file + ":" + std::to_string(location.line);
  if (location.caller_line != 0) text += " (called at line " + std::to_string(location.caller_line) + ")";
  return text;
}

Builder::Builder(const ptx::Module& module, const ptx::Function& kernel, const AddressOf& address_of)
    : module_(module), kernel_(kernel) {
  program_.name = kernel.name;
  program_.files = module.files;
  program_.location = kernel.location;
  program_.max_threads = kernel.max_threads;
  program_.min_blocks = kernel.min_blocks;
  program_.max_registers = kernel.max_registers;
  program_.cluster = kernel.cluster;
  program_.is_explicit_cluster = kernel.explicit_cluster;
  place_variables(address_of);
  place_registers();
}

void Builder::place_variables(const AddressOf& address_of) {
  uint64_t shared = 0, local = 0, param = 0, dynamic_align = 16;
  const auto place = [](uint64_t& top, const ptx::Variable& variable) {
    const uint64_t at = aligned(top, variable.align);
    top = at + variable.bytes;
    return at;
  };
  places_.resize(kernel_.variables.size());
  for (size_t i = 0; i < places_.size(); ++i) {
    const ptx::Variable& variable = kernel_.variables[i];
    switch (variable.space) {
      case Space::shared:
        if (variable.dynamic)
          dynamic_align = std::max(dynamic_align, variable.align);
        else
          places_[i] = place(shared, variable);
        break;
      case Space::param:
        if (i >= kernel_.parameter_count) {  // of a call
          places_[i] = place(local, variable);
          break;
        }
        places_[i] = place(param, variable);
        program_.parameters.emplace_back(places_[i], variable.bytes);
        break;
      case Space::local: places_[i] = place(local, variable); break;
      case Space::global:
      case Space::constant: places_[i] = address_of(variable.name); break;
    }
  }
  // Dynamic shared memory begins where the static ends, whatever it is called.
  const uint64_t dynamic_start = aligned(shared, dynamic_align);
  bool dynamic = false;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (kernel_.variables[i].space == Space::shared && kernel_.variables[i].dynamic)
      places_[i] = dynamic_start, dynamic = true;
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    const ptx::Variable& variable = kernel_.variables[i];
    if (variable.space == Space::shared)
      program_.shared_variables.push_back({variable.name, places_[i], variable.dynamic ? 0 : variable.bytes});
  }
  if (shared > (1u << 20) || local > (1u << 24) || param > 32764) {
    throw Refused("kernel " + readable(kernel_.name) + ": more shared, local or parameter memory than any GPU has");
  }
  program_.static_shared_bytes = static_cast<uint32_t>(dynamic ? dynamic_start : shared);
  program_.local_bytes = static_cast<uint32_t>(aligned(local, 16));
  program_.parameter_bytes = static_cast<uint32_t>(param);
}

void Builder::place_registers() {
  slots_.reserve(kernel_.registers.size());
  for (const ptx::Register& reg : kernel_.registers) {
    const bool predicate = reg.width == Width::predicate;
    slots_.push_back(allot(predicate ? sizeof(uint32_t) : static_cast<uint32_t>(reg.width) * warp_size));
    program_.registers.push_back({reg.name, reg.width, slots_.back()});
    if (!predicate) program_.register_count += std::max(1u, static_cast<uint32_t>(reg.width) / 4);
  }
}

uint32_t Builder::allot(uint32_t bytes) {
  const uint64_t at = aligned(program_.register_bytes, std::min(bytes, 64u));
  if (at + bytes > (1u << 28)) throw Refused("kernel " + kernel_.name + ": more registers than can be simulated");
  program_.register_bytes = static_cast<uint32_t>(at + bytes);
  return static_cast<uint32_t>(at);
}

std::vector<std::string_view> Builder::parts() const {
  const std::string_view opcode = written_->opcode;
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= opcode.size();) {
    const size_t to = std::min(opcode.find('.', from), opcode.size());
    parts.push_back(opcode.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

bool Builder::has(std::string_view modifier) const {
  const std::string& opcode = written_->opcode;
  for (size_t at = opcode.find('.'); at != std::string::npos; at = opcode.find('.', at + 1)) {
    if (opcode.compare(at + 1, modifier.size(), modifier) != 0) continue;
    const size_t end = at + 1 + modifier.size();
    if (end == opcode.size() || opcode[end] == '.') return true;
  }
  return false;
}

void Builder::refuse(const std::string& why) const {
  std::string text =
      "'" + written_->opcode + "' in kernel " + readable(kernel_.name) + " at " + program_.where(written_->location);
  throw Refused(text + " (" + ptx::place_in_text(written_->text_line, written_->text_column) + "): " + why);
}

/// Whether the operands have the widths that the form's letters say. Constants fit any letter but a destination's.
bool Builder::fits(const Form& form) const {
  if (form.operands.size() != written_->operands.size()) return false;
  for (size_t i = 0; i < form.operands.size(); ++i) {
    const Operand& operand = written_->operands[i];
    const Width width = width_of_letter(form.operands[i]);
    const bool is_destination = form.operands[i] < 'a';
    if (operand.kind == Operand::Kind::reg) {
      if (reg(operand).width != width) return false;
    } else if (operand.kind == Operand::Kind::vector) {
      return false;
    } else if (is_destination && operand.kind != Operand::Kind::sink) {
      return false;
    }
  }
  return true;
}

void Builder::decode_one(const ptx::Instruction& written) {
  ptx::Instruction instruction = written;
  written_ = &instruction;
  made_ = Instruction{};
  program_.first_use.push_back(static_cast<uint32_t>(program_.register_uses.size()));
  const bool clock =
      instruction.opcode.starts_with("mov.") && instruction.operands.size() == 2 &&
      instruction.operands[1].kind == Operand::Kind::special &&
      (instruction.operands[1].text.starts_with("%clock") || instruction.operands[1].text.starts_with("%globaltimer"));
  if (clock) {
    // That of CUDA's own headers, with which cuda::barrier limits its patience, is nobody's measurement.
    const uint32_t file = instruction.location.file;
    const bool known = instruction.location.line != 0 && file < program_.files.size();
    const bool measures = instruction.operands[1].text.starts_with("%clock");
    program_.reads_clock |= known ? program_.files[file].find("/cuda/") == std::string::npos : measures;
  }
  std::vector<const Form*> forms = Table::instance().find(clock ? "ptxsim.clock" : instruction.opcode);
  if (forms.empty()) {
    if (const std::string known = Table::instance().reordered(instruction.opcode); !known.empty()) {
      instruction.opcode = known;
      forms = Table::instance().find(known);
    }
  }
  if (forms.empty()) refuse("the simulator does not know this instruction");
  const auto fitting =
      std::find_if(forms.begin(), forms.end(), [&](const Form* each) { return each->build || fits(*each); });
  if (fitting == forms.end()) {
    for (const ptx::Operand& operand : instruction.operands) {
      if (operand.kind == ptx::Operand::Kind::name && operand.text.starts_with("%"))
        refuse("register " + operand.text + " is declared nowhere");
    }
    refuse("operands that this instruction does not take");
  }
  const Form* const form = *fitting;

  made_.run = form->run;
  made_.guard = constant(Width::predicate, 1);
  if (instruction.guard) {
    Operand guard = *instruction.guard;
    made_.guard_flip = guard.negated ? all_lanes : 0;
    guard.negated = false;
    made_.guard = source(guard, Width::predicate);
  }
  if (form->build) {
    form->build(*this);
  } else {
    Operands& made = this->made<Operands>();
    for (size_t i = 0; i < form->operands.size(); ++i) {
      const char letter = form->operands[i];
      made.at[i] = letter < 'a' ? destination(instruction.operands[i], width_of_letter(letter))
                                : source(instruction.operands[i], width_of_letter(letter));
    }
  }
  program_.code.push_back(made_);
  ptx::Location location = instruction.location;
  if (location.line == 0) location.text_line = instruction.text_line;
  program_.sites.push_back({instruction.opcode, location, form->counted_as, instruction.text_line});
}

Program decode(const ptx::Module& module, const ptx::Function& written, const AddressOf& address_of) {
  const ptx::Function kernel = ptx::expand_calls(module, written);
  Builder builder(module, kernel, address_of);
  builder.program_.overwrites_reads = ptx::may_overwrite_reads(kernel);
  for (const ptx::Instruction& instruction : kernel.instructions) builder.decode_one(instruction);

  // A body that runs past its end returns.
  ptx::Instruction last;
  last.opcode = "ret";
  if (!kernel.instructions.empty()) last.location = kernel.instructions.back().location;
  builder.decode_one(last);
  builder.program_.first_use.push_back(static_cast<uint32_t>(builder.program_.register_uses.size()));
  return std::move(builder.program_);
}

}  // namespace sim
