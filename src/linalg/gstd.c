/* gstd.c: the generalised standard deviation, and its closed forms q = 1, 2, infinity; see gstd.h. */
#include "linalg/gstd.h"

#include "linalg/gstd.h"
#include "linalg/threads.h"

#include <math.h>

double nadir_gstd_unit(int64_t states, double p)
{
    if (states == 1) {
        return 0;
    }
    if (isinf(p)) {
        return 1;
    }
    return pow(1 + pow((double)(states - 1), 1 - p), -1 / p);
}

double nadir_centred_middle(double low, double high)
{
    const double range = high - low;
    return isfinite(range) ? low + range / 2 : low / 2 + high / 2;
}

static void count_entries(void *data, int64_t first, int64_t end, double *sums)
{
    (void)data;
    sums[0] += (double)(end - first);
}

nadir_status nadir_centred_median(nadir_context *context, const nadir_centred *centred, double *work,
                                  double *median, double *total)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    NADIR_CHECK(nadir_sums(context, centred->count, 0, count_entries, NULL, 1, total));
    const int64_t entries = (int64_t)*total;
    const int64_t ranks[2] = {(entries - 1) / 2, entries / 2};
    double values[2];
    if (centred->device_vector != NULL &&
        context->device->gstd_ranks(centred->device_vector, context, 2, ranks, values) == NADIR_OK) {
        *median = nadir_centred_middle(values[0], values[1]);
        return NADIR_OK;
    }
    for (int64_t i = 0; i < centred->count; i++) {
        work[i] = centred->x[i];
    }
    NADIR_CHECK(table->order_statistics(table->self, context, centred->count, work, 2, ranks, values));
    *median = nadir_centred_middle(values[0], values[1]);
cleanup:
    return status;
}

/* q = infinity: half the range. */
static void half_range(nadir_centred *centred, double *u, double *sigma)
{
    const nadir_indexed ends[2] = {centred->extremes.largest, centred->extremes.smallest};
    centred->base = nadir_centred_middle(ends[1].value * centred->scale, ends[0].value * centred->scale);
    *sigma = ends[0].value * centred->scale / 2 - ends[1].value * centred->scale / 2;
    for (int64_t i = 0; u != NULL && i < centred->count; i++) {
        u[i] = 0;
    }
    for (int end = 0; u != NULL && end < 2; end++) {
        const int64_t place = ends[end].place - centred->first;
        if (place >= 0 && place < centred->count) {
            u[place] = end == 0 ? 0.5 : -0.5;
        }
    }
}

/* sum d, sum d^2 and the number of entries. */
static void add_moments(void *data, int64_t first, int64_t end, double *sums)
{
    const nadir_centred *centred = data;
    for (int64_t i = first; i < end; i++) {
        const double d = nadir_centred_value(centred, centred->x[i]);
        sums[0] += d;
        sums[1] += d * d;
    }
    sums[2] += (double)(end - first);
}

/* q = 2: the mean and the norm of what is left, in two passes of which the second corrects the first. */
static nadir_status centred_norm(nadir_context *context, nadir_centred *centred, double *u, double *sigma)
{
    nadir_status status = NADIR_OK;
    double sums[3];
    centred->base = nadir_centred_middle(centred->extremes.smallest.value * centred->scale,
                                         centred->extremes.largest.value * centred->scale);
    NADIR_CHECK(nadir_sums(context, centred->count, 1, add_moments, centred, 3, sums));
    centred->base += sums[0] / sums[2];
    NADIR_CHECK(nadir_sums(context, centred->count, 1, add_moments, centred, 3, sums));
    centred->shift = sums[0] / sums[2];
    *sigma = sqrt(sums[1] - sums[0] * (sums[0] / sums[2]));
    if (u != NULL) {
#pragma omp parallel for num_threads(nadir_threads_for(context, centred->count)) schedule(static)
        for (int64_t i = 0; i < centred->count; i++) {
            u[i] = nadir_centred_value(centred, centred->x[i]) / *sigma;
        }
    }
cleanup:
    return status;
}

/* What the sums about the median need. */
typedef struct halves {
    const nadir_centred *centred;
    double median;
} halves;

/* sum |d| and the numbers of entries above and below. */
static void add_halves(void *data, int64_t first, int64_t end, double *sums)
{
    const halves *about = data;
    const double *x = about->centred->x;
    for (int64_t i = first; i < end; i++) {
        sums[0] += fabs(nadir_centred_value(about->centred, x[i]));
        sums[1] += x[i] > about->median;
        sums[2] += x[i] < about->median;
    }
}

/* u = 1 above the median and -1 below. There are `above` and `below` such entries; the first of those that
 * equal it, over all processes, make up for the difference. */
static nadir_status put_halves(nadir_context *context, const nadir_centred *centred, double median,
                               double above, double below, double *u)
{
    const nadir_communication *table = context->communication;
    const double sign = above < below ? 1 : -1;
    double equal = 0;
    for (int64_t i = 0; i < centred->count; i++) {
        u[i] = (double)((centred->x[i] > median) - (centred->x[i] < median));
        equal += u[i] == 0;
    }
    double taken = equal; /* by the processes before this one */
    const nadir_status status = table->scan(table->self, context, 1, &taken);
    double left = fabs(above - below) - taken;
    for (int64_t i = 0; left > 0 && i < centred->count; i++) {
        if (u[i] == 0) {
            u[i] = sign;
            left -= 1;
        }
    }
    return status;
}

/* q = 1. The sum of |x - omega| is the same for every omega between the middle order statistics, so that the
 * rounding of their middle does no harm. */
static nadir_status median_deviation(nadir_context *context, nadir_centred *centred, double *work, double *u,
                                     double *sigma)
{
    nadir_status status = NADIR_OK;
    halves about = {.centred = centred};
    double sums[3];
    double total;
    NADIR_CHECK(nadir_centred_median(context, centred, work, &about.median, &total));
    centred->base = about.median * centred->scale;
    NADIR_CHECK(nadir_sums(context, centred->count, 1, add_halves, &about, 3, sums));
    *sigma = sums[0];
    if (u != NULL) {
        NADIR_CHECK(put_halves(context, centred, about.median, sums[1], sums[2], u));
    }
cleanup:
    return status;
}

/* Long vectors go to a device, if there is one and it has memory, for norms that take many passes. */
static void send(nadir_context *context, double q, nadir_centred *centred)
{
    enum { LONG = 1000000 };
    const bool passes = q != 2 && !isinf(q);
    if (context->device == NULL || centred->count < LONG || !passes ||
        context->device->gstd_upload(context->device_self, context, centred->count, centred->x,
                                     &centred->device_vector) != NADIR_OK) {
        centred->device_vector = NULL;
    }
}

nadir_status nadir_gstd_compute(nadir_context *context, int64_t first, int64_t count, const double *x,
                                double q, double *work, double *u, nadir_gstd *gstd)
{
    nadir_status status = NADIR_OK;
    nadir_centred centred = {.first = first, .count = count, .x = x};
    double sigma = 0;
    if (!(q >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to infinity", q);
    }
    NADIR_CHECK(nadir_extremes_find(context, first, count, x, &centred.extremes));
    const double size = nadir_extremes_size(&centred.extremes);
    centred.scale = nadir_scale_for(size);
    if (centred.extremes.largest.value <= centred.extremes.smallest.value) {
        for (int64_t i = 0; u != NULL && i < count; i++) {
            u[i] = 0;
        }
        *gstd =
            (nadir_gstd){0, isfinite(centred.extremes.largest.value) ? centred.extremes.largest.value : 0};
        return NADIR_OK;
    }
    send(context, q, &centred);
    if (isinf(q)) {
        half_range(&centred, u, &sigma);
    } else if (q == 2) {
        NADIR_CHECK(centred_norm(context, &centred, u, &sigma));
    } else if (q == 1) {
        NADIR_CHECK(median_deviation(context, &centred, work, u, &sigma));
    } else {
        NADIR_CHECK(nadir_gstd_power(context, &centred, q, work, u, &sigma));
    }
    *gstd = (nadir_gstd){sigma / centred.scale, (centred.base + centred.shift) / centred.scale};
cleanup:
    if (centred.device_vector != NULL) {
        context->device->gstd_free(centred.device_vector);
    }
    return status;
}
