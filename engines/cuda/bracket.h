/* bracket.h: the search for the step that rows of 1 < p < infinity, p != 2, have in common, as
 * adversary/rows/lmo_lp.c makes it: t within two ends, by false position. */
#ifndef NADIR_ENGINES_CUDA_BRACKET_H
#define NADIR_ENGINES_CUDA_BRACKET_H

#include <cmath>

#ifdef __CUDACC__
#define BRACKET_CODE static __host__ __device__ inline
#else
#define BRACKET_CODE static inline
#endif

enum { STEP_LIMIT = 200, BRACKET_LIMIT = 60 };
#define FAR 50.0 /* the farthest that t moves at once without a bracket */

/* t within low and high, log(norm / beta) at these, and which of them stayed the last time. */
struct bracket {
    double low, high, low_excess, high_excess;
    int stayed;
    double width; /* some steps ago */
};

BRACKET_CODE void narrow(bracket *at, double t, double excess)
{
    if (excess <= 0) {
        at->high_excess *= at->stayed > 0 ? 0.5 : 1;
        at->stayed = 1;
        at->low = t;
        at->low_excess = excess;
    } else {
        at->low_excess *= at->stayed < 0 ? 0.5 : 1;
        at->stayed = -1;
        at->high = t;
        at->high_excess = excess;
    }
}

BRACKET_CODE double next_t(bracket *at, int i, double tolerance, double far)
{
    if (std::isinf(at->low)) {
        return at->high - fmin(fmax(ldexp(at->high_excess, i), tolerance), far);
    }
    if (std::isinf(at->high)) {
        return at->low + fmin(fmax(ldexp(-at->low_excess, i), tolerance), far);
    }
    const double width = at->high - at->low;
    const double t = at->low - at->low_excess * (width / (at->high_excess - at->low_excess));
    bool slow = false;
    if (i % 4 == 3) {
        slow = width > at->width / 2;
        at->width = width;
    }
    return !slow && t > at->low && t < at->high ? t : at->low + width / 2;
}

#endif
