#include "common/harness/sweep.h"

#include "common/device/check.h"

namespace {

struct Sweep {
  const char* name;
  bool square;            // m = n = k
  std::vector<int> m, k;  // m and n each take all of m
};

const std::vector<Sweep>& sweeps() {
  static const std::vector<Sweep> all = {
      {"square", true, {1024, 2048, 4096, 8192, 16384}, {}},
      {"sgemm27", false, {4096, 8192, 16384}, {2048, 4096, 8192}},
      {"hgemm125", false, {1024, 2048, 4096, 8192, 16384}, {512, 1024, 2048, 4096, 8192}},
      {"hgemm27", false, {1024, 2048, 4096}, {256, 512, 1024}},
  };
  return all;
}

}  // namespace

std::vector<std::string> sweep_names() {
  std::vector<std::string> names;
  for (const Sweep& sweep : sweeps()) names.push_back(sweep.name);
  return names;
}

std::vector<Shape> sweep_shapes(const std::string& name) {
  std::vector<Shape> shapes;
  for (const Sweep& sweep : sweeps()) {
    if (sweep.name != name) continue;
    for (int m : sweep.m) {
      if (sweep.square) shapes.push_back({m, m, m});
      for (int n : sweep.m)
        for (int k : sweep.k) shapes.push_back({m, n, k});
    }
  }
  if (shapes.empty()) throw BadInput("no sweep is called " + name);
  return shapes;
}
