// What mbarriers, elect.sync and clusters do, step by step.
//
//     synchronisation RECORDING [OUT]   see recorder.h
//
//     mbarrier,count,n,step,word,state,pending count of the state,test of parity 0,of parity 1
//     elect.sync,mask,leader,lanes whose predicate is true
//     cluster,grid,cluster,block,rank,ranks,place,size,cluster's place,clusters,own,dynamic,got,own generic,
//       and for each rank: rank:mapa:getctarank:mapa of a generic address
//
// Each line of an mbarrier is a step of one thread, in order; n = 0 begins with a new one. In a cluster each block
// writes 100 plus its rank into the next one's shared memory, which then has `got` it. Of a recording only what comes
// before the results is needed. What is left to chance, or to where things lie in memory, is not compared: the word
// (a load does not see it change), the lower half of a state, addresses but for their ranks.
#include "recordings/recorder.h"
#include "recordings/synchronisation_kernels.h"

namespace {

using Cells = std::vector<std::string>;

std::string line_of(const Cells& cells) { return recorder::joined(cells, ','); }

// --- mbarriers ---

// "arrive(rest)", of an mbarrier that counts so many arrivals.
Step step_named(const std::string& name, uint32_t count) {
  const size_t open = name.find('('), close = name.find(')');
  const std::string operation = name.substr(0, open), amount = name.substr(open + 1, close - open - 1);
  if (name == "init") return {Step::INIT, count};
  const bool rest = amount.rfind("rest", 0) == 0;
  const uint32_t number = rest ? count - 1 : amount == "all" ? count : static_cast<uint32_t>(std::stoul(amount));
  if (operation == "expect_tx") return {Step::EXPECT_TX, number};
  if (operation == "complete_tx") return {Step::COMPLETE_TX, number};
  if (operation == "arrive") return {Step::ARRIVE, number};
  if (operation == "arrive.expect_tx") return {Step::ARRIVE_EXPECT_TX, number};
  if (operation == "arrive_drop") return {Step::ARRIVE_DROP, number};
  throw BadInput("an mbarrier has no step " + name);
}

void add_steps(const std::vector<Cells>& rows, recorder::Lines& lines) {
  std::vector<Step> steps;
  for (const Cells& row : rows) steps.push_back(step_named(row.at(3), static_cast<uint32_t>(std::stoul(row.at(1)))));
  const recorder::DeviceArray<Seen> seen(steps.size());
  take_steps<<<1, 1>>>(recorder::DeviceArray<Step>(steps).data(), static_cast<int>(steps.size()), seen.data());
  const std::vector<Seen> all = seen.read();
  for (size_t i = 0; i < rows.size(); ++i) {
    Cells cells(rows[i].begin(), rows[i].begin() + 4);
    cells.push_back(recorder::hex(all[i].word, 16));
    cells.push_back(recorder::hex(all[i].state, 16));
    for (const uint32_t number : {all[i].pending, all[i].over[0], all[i].over[1]})
      cells.push_back(std::to_string(number));
    lines.push_back(line_of(cells));
  }
}

// --- elect.sync ---

void add_election(const Cells& row, recorder::Lines& lines) {
  const auto mask = static_cast<uint32_t>(std::stoul(row.at(1), nullptr, 16));
  const recorder::DeviceArray<Elected> elected(32);
  elect<<<1, 32>>>(mask, elected.data());
  const std::vector<Elected> all = elected.read();
  uint32_t leader = 0, lanes = 0;
  for (size_t lane = 0; lane < 32; ++lane) {
    if (mask >> lane & 1) leader = all[lane].leader;
    lanes |= all[lane].is_leader << lane;
  }
  lines.push_back(line_of({row[0], row[1], std::to_string(leader), recorder::hex(lanes, 8)}));
}

// --- clusters ---

dim3 dimensions(const std::string& text) {
  const Cells parts = recorder::split(text, 'x');
  return dim3(static_cast<unsigned>(std::stoul(parts.at(0))), static_cast<unsigned>(std::stoul(parts.at(1))));
}
std::string pair(const uint32_t (&numbers)[2]) { return std::to_string(numbers[0]) + "x" + std::to_string(numbers[1]); }

void add_cluster(const Cells& first, recorder::Lines& lines) {
  const dim3 grid = dimensions(first.at(1)), cluster = dimensions(first.at(2));
  const recorder::DeviceArray<Member> members(grid.x * grid.y);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x, attribute.val.clusterDim.y = cluster.y, attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = grid, launch.blockDim = dim3(32), launch.dynamicSmemBytes = 1024;
  launch.attrs = &attribute, launch.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&launch, meet, members.data()));
  for (const Member& each : members.read()) {
    Cells cells = {"cluster", first[1], first[2], pair(each.block)};
    for (const uint32_t number : {each.rank, each.ranks}) cells.push_back(std::to_string(number));
    for (const auto* numbers : {&each.place, &each.size, &each.cluster, &each.clusters})
      cells.push_back(pair(*numbers));
    for (const uint32_t address : {each.own, each.dynamic}) cells.push_back(recorder::hex(address, 8));
    cells.push_back(std::to_string(each.got));
    cells.push_back(recorder::hex(each.own_generic, 16));
    for (uint32_t rank = 0; rank < each.ranks; ++rank)
      cells.push_back(
          recorder::joined({std::to_string(rank), recorder::hex(each.of_rank[rank].address, 8),
                            std::to_string(each.of_rank[rank].rank), recorder::hex(each.of_rank[rank].generic, 16)},
                           ':'));
    lines.push_back(line_of(cells));
  }
}

// --- the recording ---

recorder::Lines again(const recorder::Lines& recorded) {
  recorder::Lines lines;  // each recorded one as it is here, so that the next is the recording's of the same number
  while (lines.size() < recorded.size()) {
    const size_t first = lines.size();
    const Cells row = recorder::split(recorded[first], ',');
    if (row[0] == "mbarrier") {
      std::vector<Cells> rows = {row};
      for (Cells next; first + rows.size() < recorded.size(); rows.push_back(next)) {
        next = recorder::split(recorded[first + rows.size()], ',');
        if (next[0] != "mbarrier" || next[2] == "0") break;
      }
      add_steps(rows, lines);
    } else if (row[0] == "elect.sync") {
      add_election(row, lines);
    } else if (row[0] == "cluster") {
      add_cluster(row, lines);
    } else {
      throw BadInput("line " + std::to_string(first + 1) + " is neither mbarrier, elect.sync nor cluster");
    }
  }
  return lines;
}

std::string comparable(const std::string& line) {
  Cells cells = recorder::split(line, ',');
  if (cells[0] == "mbarrier" && cells.size() > 5) {
    cells[4].clear();
    cells[5].resize(8);
  }
  if (cells[0] == "cluster" && cells.size() > 14) {
    for (const size_t address : {10, 11, 13}) cells[address].clear();
    for (size_t i = 14; i < cells.size(); ++i) {
      Cells parts = recorder::split(cells[i], ':');
      parts.at(1).resize(2);  // the rank in the address
      parts.at(3).clear();
      cells[i] = recorder::joined(parts, ':');
    }
  }
  return line_of(cells);
}

}  // namespace

int main(int count, char** arguments) { return recorder::run(count, arguments, again, comparable); }
