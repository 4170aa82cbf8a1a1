/* power_function.h: powers with the exponents that norms need; NADIR_FORMULA as in linalg/formulas.h. */
#ifndef NADIR_LINALG_POWER_FUNCTION_H
#define NADIR_LINALG_POWER_FUNCTION_H

#include <math.h>

#ifndef NADIR_FORMULA
#define NADIR_FORMULA static inline
#endif

/* r^exponent, r >= 0: the exponents of q = 1.5, 2 and 3 without the cost of a general power. */
NADIR_FORMULA double nadir_power(double r, double exponent)
{
    return exponent == 1 ? r : exponent == 2 ? r * r : exponent == 0.5 ? sqrt(r) : pow(r, exponent);
}

#endif
