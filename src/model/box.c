/* box.c: the box of a model, and the nominal row in it; see box.h. */
#include "model/box.h"

#include "core/round.h"
#include "linalg/vector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double entry_at(double lower, double upper, double level)
{
    return fmin(fmax(lower + (upper - lower) / 2 + level, lower), upper);
}

/* X = clip(middle + level) sums to one: Newton's method, within a bracket since both bounds clip. */
void nadir_box_point(int64_t count, const double *lower, const double *upper, double *p)
{
    double low = -1; /* all entries are at l, or at u */
    double high = 1;
    double level = 0;
    for (int i = 0; i < 200 && low < high; i++) {
        double inside = 0;
        for (int64_t j = 0; j < count; j++) {
            p[j] = entry_at(lower[j], upper[j], level);
            inside += p[j] > lower[j] && p[j] < upper[j];
        }
        const double excess = nadir_vector_sum(count, p) - 1;
        if (fabs(excess) <= NADIR_ROUND_UNIT) {
            return;
        }
        low = excess < 0 ? level : low;
        high = excess > 0 ? level : high;
        const double newton = inside > 0 ? level - excess / inside : INFINITY;
        level = newton > low && newton < high ? newton : low + (high - low) / 2;
        if (level <= low || level >= high) {
            break;
        }
    }
    for (int64_t j = 0; j < count; j++) {
        p[j] = entry_at(lower[j], upper[j], level);
    }
}

const char *nadir_box_settle(int64_t count, const int32_t *columns, const double *lower, const double *upper,
                             double *p, size_t size, char text[])
{
    const double least = nadir_vector_sum(count, lower);
    const double most = nadir_vector_sum(count, upper);
    if (least > 1 + NADIR_SUM_TOLERANCE || most < 1 - NADIR_SUM_TOLERANCE) {
        (void)snprintf(text, size, "the %s bounds of the probabilities sum to %.10g; expected %s",
                       least > 1 ? "lower" : "upper", least > 1 ? least : most,
                       least > 1 ? "1 at most" : "1 at least");
        return text;
    }
    int64_t given = 0;
    for (int64_t i = 0; i < count; i++) {
        given += !isnan(p[i]);
    }
    if (given == 0) {
        nadir_box_point(count, lower, upper, p);
    }
    for (int64_t i = 0; i < count; i++) {
        if (!(p[i] >= lower[i] - NADIR_BOX_TOLERANCE && p[i] <= upper[i] + NADIR_BOX_TOLERANCE)) {
            (void)snprintf(text, size,
                           "the nominal probability of successor %lld is %.10g, outside its interval "
                           "[%.10g, %.10g]",
                           (long long)columns[i], p[i], lower[i], upper[i]);
            return text;
        }
        p[i] = fmax(p[i], NADIR_LEAST_PROBABILITY);
    }
    return NULL;
}

void nadir_box_enclose(int64_t count, const double *p, double *lower, double *upper)
{
    for (int64_t i = 0; i < count; i++) {
        lower[i] = fmin(lower[i], p[i]);
        upper[i] = fmax(upper[i], p[i]);
    }
}

nadir_status nadir_box_is_centred(nadir_context *context, const nadir_model *model, bool *centred)
{
    nadir_status status = NADIR_OK;
    double *p = NULL;
    NADIR_NEW(context, p, model->states);
    *centred = true;
    for (int64_t row = 0; row < model->rows && *centred; row++) {
        const int64_t start = model->row_starts[row];
        const int64_t count = model->row_starts[row + 1] - start;
        nadir_box_point(count, model->lower + start, model->upper + start, p);
        for (int64_t i = 0; i < count; i++) {
            *centred = *centred && fabs(p[i] - model->probabilities[start + i]) <= NADIR_SUM_ROUNDING;
        }
    }
cleanup:
    nadir_release(context, p);
    return status;
}
