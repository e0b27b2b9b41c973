/// What a PTX module says, as the parser leaves it: names are resolved, nothing is interpreted yet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim::ptx {

/// Where an instruction comes from in the .cu file (`.loc`), and from where its function was inlined.
struct Location {
  uint32_t file = 0;  ///< index given by `.file`; 0 when unknown
  uint32_t line = 0;
  uint32_t caller_file = 0;  ///< 0 when the code was not inlined
  uint32_t caller_line = 0;
  uint32_t text_line = 0;  ///< of the PTX, for an instruction of which no line of a source is known
};

enum class Width : uint8_t { predicate = 0, b8 = 1, b16 = 2, b32 = 4, b64 = 8 };

/// "PTX line 12, column 5"; without a column where that is 0.
inline std::string place_in_text(uint32_t line, uint32_t column) {
  return "PTX line " + std::to_string(line) + (column == 0 ? "" : ", column " + std::to_string(column));
}

struct Register {
  std::string name;
  Width width;
};

enum class Space : uint8_t { global, constant, shared, local, param };

/// A variable of a module, of a kernel's body, or a kernel's parameter.
struct Variable {
  std::string name;
  Space space = Space::global;
  uint64_t align = 1;
  uint64_t bytes = 0;
  bool dynamic = false;   ///< `.extern .shared x[]`: as long as the launch says
  bool external = false;  ///< `.extern`: another text of the same program defines it
  bool exported = false;  ///< `.visible`, `.weak` or `.common`: other texts may name it
  std::vector<std::byte> initial;

  /// An address among the initial values: that of another variable, `offset` bytes from this one's start.
  struct Pointer {
    uint64_t offset;
    std::string to;
    uint64_t addend;
  };
  std::vector<Pointer> pointers;
};

struct Operand {
  enum class Kind : uint8_t {
    reg,
    integer,
    float32,
    float64,
    variable,
    special,
    label,
    vector,
    pair,
    address,
    name,
    sink
  };
  Kind kind = Kind::integer;
  bool negated = false;             ///< `!%p`
  uint32_t index = 0;               ///< register, variable (see Function::variables) or instruction (label)
  uint64_t value = 0;               ///< immediate's bits; address: offset in bytes
  std::string text = {};            ///< special register, or function name
  std::vector<Operand> parts = {};  ///< vector and pair: elements; address: the base (none for an absolute
                                    ///< address), then the coordinates where it is a tensor's
};

struct Instruction {
  std::string opcode = {};  ///< with every modifier, as written
  std::optional<Operand> guard = {};
  std::vector<Operand> operands = {};
  Location location = {};
  uint32_t text_line = 0;  ///< line of the PTX
  uint32_t text_column = 0;
};

/// A kernel, or a device function that was not inlined.
struct Function {
  std::string name;
  bool exported = false;  ///< `.visible` or `.weak`: other texts of the same program may call it
  /// Results (of a device function), parameters, then the body's variables and the module's that it names.
  std::vector<Variable> variables;
  size_t result_count = 0;
  size_t parameter_count = 0;
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  uint32_t max_threads = 0;           ///< `.maxntid`; 0 when not given
  uint32_t min_blocks = 1;            ///< `.minnctapersm`
  uint32_t max_registers = 0;         ///< `.maxnreg`; 0 when not given
  std::array<uint32_t, 3> cluster{};  ///< `.reqnctapercluster`; zeros when not given
  bool explicit_cluster = false;      ///< `.explicitcluster`
  Location location;                  ///< of the kernel's first line
};

struct Module {
  uint32_t version = 0;  ///< 90 for `.version 9.0`
  std::string target;
  std::vector<std::string> files;  ///< by `.file` index
  std::vector<Variable> variables;
  std::vector<std::string> kernel_names;  ///< of all kernels, whether they were parsed or passed over
  std::vector<Function> kernels;
  std::vector<Function> functions;  ///< device functions with a body
};

}  // namespace sim::ptx
