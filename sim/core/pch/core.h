// What nearly every file of the machine includes, compiled once (Meson's cpp_pch). Files include what they use all the
// same.
#include "core/machine/access.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"
