// What nearly every file of the machine includes, compiled once (Meson's cpp_pch). Files include what they use all the
// same.
#include "machine/access.h"
#include "machine/decode.h"
#include "machine/forms.h"
