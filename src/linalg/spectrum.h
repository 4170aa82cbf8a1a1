/*
 * spectrum.h: eigenpairs of a dense symmetric matrix: all, the leading ones, or those above a threshold.
 */
#ifndef NADIR_LINALG_SPECTRUM_H
#define NADIR_LINALG_SPECTRUM_H

#include "base/context.h"

#define NADIR_SPECTRUM_LARGEST 30000

/* Room that serves any number of matrices of one size, and what was found last. A struct of zeros holds
 * nothing. */
typedef struct nadir_spectrum {
    int64_t size;
    int64_t room;    /* eigenpairs there is room for */
    int64_t count;   /* that were found */
    double *values;  /* [count] falling */
    double *vectors; /* [size * count] orthonormal, one after another */
    double *work;
    int32_t *iwork;
    int64_t work_length, iwork_length;
} nadir_spectrum;

/* size: at most NADIR_SPECTRUM_LARGEST, past which LAPACK's lengths are no 32-bit numbers.
 * nadir_spectrum_close is legal afterwards in any case. */
nadir_status nadir_spectrum_open(nadir_context *context, int64_t size, int64_t room,
                                 nadir_spectrum *spectrum);
void nadir_spectrum_close(nadir_context *context, nadir_spectrum *spectrum);

/* matrix: [size * size] finite, its lower triangle column after column; destroyed. All of them wants room for
 * all, by divide and conquer; fewer cost little more than the tridiagonal form. */
nadir_status nadir_spectrum_all(nadir_context *context, double *matrix, nadir_spectrum *spectrum);
/* The `count` largest, 1 to room. */
nadir_status nadir_spectrum_leading(nadir_context *context, double *matrix, int64_t count,
                                    nadir_spectrum *spectrum);
/* Those above the threshold; with room for all; the squares of the entries neither overflow nor vanish. */
nadir_status nadir_spectrum_above(nadir_context *context, double *matrix, double threshold,
                                  nadir_spectrum *spectrum);

#endif
