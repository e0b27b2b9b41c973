/// What the course's headers take from CUDA's own where they are compiled for a page.
#pragma once

#define __host__
#define __device__
