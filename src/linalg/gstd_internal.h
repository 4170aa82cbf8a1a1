/* gstd_internal.h: what the files of the GSTD share; see gstd.h. */
#ifndef NADIR_LINALG_GSTD_INTERNAL_H
#define NADIR_LINALG_GSTD_INTERNAL_H

#include "core/device.h"
#include "linalg/distributed.h"
#include "linalg/gstd.h"

/*
 * One computation. Entries are brought to size 1 by a power of two and seen from a centre in two parts, as a
 * single double near large entries that differ little could not say where the centre is:
 *
 *     d_i = (scale x_i - base) - shift,   omega = (base + shift) / scale
 *
 * The first difference is exact where x_i is near the base.
 */
typedef struct nadir_centred {
    int64_t first;
    int64_t count;
    const double *x; /* [count] */
    nadir_extremes extremes;
    double scale;
    double base;
    double shift;
    void *device_vector; /* x on the device of the context; NULL: it is not there */
} nadir_centred;

static inline double nadir_centred_value(const nadir_centred *centred, double x)
{
    return (x * centred->scale - centred->base) - centred->shift;
}

/* The middle of low <= high, and never outside of them. */
double nadir_centred_middle(double low, double high);

/* The middle of the middle order statistics of all entries, and how many entries there are. work[count] */
nadir_status nadir_centred_median(nadir_context *context, const nadir_centred *centred, double *work,
                                  double *median, double *total);

/* 1 < q < infinity, q != 2, not all entries equal: scaled sigma, the centre (in `centred`) and u unless
 * NULL. */
nadir_status nadir_gstd_power(nadir_context *context, nadir_centred *centred, double q, double *work,
                              double *u, double *sigma);

#endif
