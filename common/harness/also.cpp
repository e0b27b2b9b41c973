#include "common/harness/also.h"

#include <utility>

std::multimap<std::string, Also::Added>& also_tables() {
  static std::multimap<std::string, Also::Added> all;  // local: there before the first file's object is made
  return all;
}

Also::Also(Table table, Place place, const char* file) { also_tables().emplace(file, Added{table, place}); }

std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  const auto append = [&all](std::vector<Variant> some) {
    for (Variant& variant : some) all.push_back(std::move(variant));
  };
  for (const auto& [file, added] : also_tables())
    if (added.place == Also::Place::IN_FRONT) append(added.table());
  append(variants());
  for (const auto& [file, added] : also_tables())
    if (added.place == Also::Place::BEHIND) append(added.table());
  return all;
}
