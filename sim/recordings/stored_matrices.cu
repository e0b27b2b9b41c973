// Which element stmatrix stores where.
//
//     stored_matrices RECORDING [OUT]   see recorder.h; what is stored does not depend on the recording
//
//     stmatrix,x,trans,reversed,row,lane.register.half of the row's eight elements
//
// Shared memory is 32 rows of 16 bytes; lane l gives the address of row l, or reversed of row 31 - l. Rows that nothing
// reached are left out.
#include "recordings/ptx.h"
#include "recordings/recorder.h"

namespace {

constexpr int WARP = 32, ELEMENTS = 8, REGISTERS = 4;
constexpr uint16_t UNTOUCHED = 0xffff;

struct Straight {
  static constexpr char name[] = "";
};
struct Transposed {
  static constexpr char name[] = ".trans";
};

// Half h of register r of lane l holds 8·l + 2·r + h.
template <int count, class Way>
__global__ void store(bool reversed, uint16_t* out) {
  __shared__ alignas(16) uint16_t rows[WARP * ELEMENTS];
  const uint32_t lane = threadIdx.x;
  for (int i = 0; i < ELEMENTS; ++i) rows[lane * ELEMENTS + i] = UNTOUCHED;
  __syncwarp();
  uint32_t r[REGISTERS];
  for (uint32_t i = 0; i < REGISTERS; ++i) r[i] = (8 * lane + 2 * i) | (8 * lane + 2 * i + 1) << 16;
  const uint32_t to = shared_address(rows + (reversed ? WARP - 1 - lane : lane) * ELEMENTS);
  if constexpr (count == 1)
    asm volatile("stmatrix.sync.aligned.m8n8.x1%0.shared.b16 [%1], {%2};" ::"C"(Way::name), "r"(to), "r"(r[0])
                 : "memory");
  else if constexpr (count == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2%0.shared.b16 [%1], {%2, %3};" ::"C"(Way::name), "r"(to), "r"(r[0]),
                 "r"(r[1])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4%0.shared.b16 [%1], {%2, %3, %4, %5};" ::"C"(Way::name), "r"(to),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  __syncwarp();
  for (int i = 0; i < ELEMENTS; ++i) out[lane * ELEMENTS + i] = rows[lane * ELEMENTS + i];
}

template <int count, class Way>
void add(recorder::Lines& lines) {
  for (const bool reversed : {false, true}) {
    const recorder::DeviceArray<uint16_t> out(WARP * ELEMENTS);
    store<count, Way><<<1, WARP>>>(reversed, out.data());
    const std::vector<uint16_t> rows = out.read();
    for (size_t row = 0; row < WARP; ++row) {
      if (rows[row * ELEMENTS] == UNTOUCHED) continue;
      std::string line = "stmatrix,x" + std::to_string(count) + (std::is_same_v<Way, Transposed> ? ",1" : ",0") +
                         (reversed ? ",1," : ",0,") + std::to_string(row);
      for (size_t i = 0; i < ELEMENTS; ++i) {
        const int from = rows[row * ELEMENTS + i];
        line += "," + std::to_string(from / 8) + "." + std::to_string(from / 2 % 4) + "." + std::to_string(from % 2);
      }
      lines.push_back(line);
    }
  }
}

recorder::Lines again(const recorder::Lines&) {
  recorder::Lines lines = {"stmatrix,x,trans,reversed,row,lane.register.half of the row's eight elements"};
  add<1, Straight>(lines), add<1, Transposed>(lines);
  add<2, Straight>(lines), add<2, Transposed>(lines);
  add<4, Straight>(lines), add<4, Transposed>(lines);
  return lines;
}

}  // namespace

int main(int count, char** arguments) { return recorder::run(count, arguments, again); }
