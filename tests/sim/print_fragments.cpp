// Prints tests/sim/fragments.csv: after a change of machine/fragments.h, `build/tests/sim/print_fragments >` that file.
#include <iostream>

#include "fragments_csv.h"

int main() { std::cout << sim::testing::fragments_csv(); }
