// Two functions of OpenMP's runtime, whose header comes with one compiler and not with another.
#pragma once

extern "C" {
int omp_get_max_threads() noexcept;
void omp_set_num_threads(int count) noexcept;
}
