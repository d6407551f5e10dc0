/// The version of CUDA whose names these headers have: sources ask for it.
#pragma once

#define CUDA_VERSION 12000
#define CUDART_VERSION 12000
