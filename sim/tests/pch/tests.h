// What nearly every test includes, compiled once (Meson's cpp_pch). Files include what they use all the same.
#include "evaluate.h"
