/* membership.c: whether a kernel lies in the set; see membership.h. */
#include "adversary/check/membership.h"
#include "kernel/explicit.h"
#include "linalg/distributed.h"
#include "linalg/norm.h"
#include "linalg/threads.h"

#include <math.h>
#include <string.h>

/* What one thread has seen. */
typedef struct seen {
    nadir_explicit rows;
    double *difference; /* [states] of a row */
    double row_sum;
    double minimum;
    int64_t minimum_row;
    double off_support;
} seen;

/* The difference of a row from the nominal one, by merging both: into difference[]; returns its length. */
static int64_t subtract_nominal(const nadir_row *nominal, const nadir_row *row, double *difference,
                                double *off_support)
{
    int64_t length = 0;
    int64_t j = 0;
    for (int64_t i = 0; i < row->count; i++) {
        for (; j < nominal->count && nadir_row_column(nominal, j) < row->columns[i]; j++) {
            difference[length++] = -nominal->values[j];
        }
        const bool known = j < nominal->count && nadir_row_column(nominal, j) == row->columns[i];
        const double there = known ? nominal->values[j] : 0;
        if (there == 0) {
            *off_support = fmax(*off_support, fabs(row->values[i]));
        }
        difference[length++] = row->values[i] - there;
        j += known;
    }
    for (; j < nominal->count; j++) {
        difference[length++] = -nominal->values[j];
    }
    return length;
}

/* The same numbers, bit for bit. */
static bool are_same(const nadir_row *nominal, const nadir_row *row)
{
    const size_t bytes = (size_t)row->count * sizeof *row->values;
    return nominal->count == row->count && memcmp(nominal->values, row->values, bytes) == 0 &&
           (nominal->columns == NULL ||
            memcmp(nominal->columns, row->columns, (size_t)row->count * sizeof *row->columns) == 0);
}

/* Numbers by fours, in vectors of the language as GCC and Clang extend it. */
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t four_mask __attribute__((vector_size(4 * sizeof(double))));

/* Sum and smallest of a dense row, and its difference from the nominal one into difference[]. */
static inline __attribute__((always_inline)) void subtract_all(int64_t states, const double *nominal,
                                                               const double *row, double *sum,
                                                               double *minimum, double *difference)
{
    enum { LANES = 4 };
    four lows = {INFINITY, INFINITY, INFINITY, INFINITY};
    four sums = {0};
    int64_t t = 0;
    for (; t + LANES <= states; t += LANES) {
        four own;
        four there;
        memcpy(&own, row + t, sizeof own);
        memcpy(&there, nominal + t, sizeof there);
        const four apart = own - there;
        const four_mask lower = own < lows;
        memcpy(difference + t, &apart, sizeof apart);
        lows = (four)(((four_mask)own & lower) | ((four_mask)lows & ~lower));
        sums += own;
    }
    for (; t < states; t++) {
        difference[t] = row[t] - nominal[t];
        lows[0] = row[t] < lows[0] ? row[t] : lows[0];
        sums[0] += row[t];
    }
    *sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    *minimum = fmin(fmin(lows[0], lows[1]), fmin(lows[2], lows[3]));
}

#if defined __x86_64__
/* The same, for processors that take four numbers at once. */
__attribute__((target("avx2"))) static void subtract_all_wide(int64_t states, const double *nominal,
                                                              const double *row, double *sum, double *minimum,
                                                              double *difference)
{
    subtract_all(states, nominal, row, sum, minimum, difference);
}
#endif

static void subtract_dense(int64_t states, const double *nominal, const double *row, double *sum,
                           double *minimum, double *difference)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        subtract_all_wide(states, nominal, row, sum, minimum, difference);
        return;
    }
#endif
    subtract_all(states, nominal, row, sum, minimum, difference);
}

/* The largest entry of a dense row where the nominal one has none. */
static double largest_off_support(int64_t states, const double *nominal, const double *row)
{
    double off = 0;
    for (int64_t t = 0; t < states; t++) {
        const double there = nominal[t] == 0 ? fabs(row[t]) : 0;
        off = there > off ? there : off;
    }
    return off;
}

static void note_minimum(int64_t row, double minimum, seen *at)
{
    if (minimum < at->minimum) {
        at->minimum = minimum;
        at->minimum_row = row;
    }
}

/* What a row adds to what was seen, but for its distance. */
static void note_row(int64_t row, double sum, double minimum, seen *at)
{
    at->row_sum = fmax(at->row_sum, fabs(sum - 1));
    note_minimum(row, minimum, at);
}

/* Distance of one row, and what it adds to what was seen. */
static double look_at_row(const nadir_model *model, int64_t row, double p, seen *at)
{
    if (nadir_kernel_is_nominal(at->rows.kernel, row)) {
        at->row_sum =
            fmax(at->row_sum, fmax(fabs(1 - model->limits.sum_low), fabs(model->limits.sum_high - 1)));
        note_minimum(row, nadir_model_row_minimum(model, row), at);
        return 0;
    }
    const nadir_row nominal = nadir_model_row(model, row);
    const double *whole = nadir_explicit_whole(&at->rows, row);
    double sum = 0;
    double minimum;
    if (whole != NULL && nominal.columns == NULL) {
        subtract_dense(model->states, nominal.values, whole, &sum, &minimum, at->difference);
        if (!(nadir_model_row_minimum(model, row) > 0)) {
            at->off_support =
                fmax(at->off_support, largest_off_support(model->states, nominal.values, whole));
        }
        note_row(row, sum, minimum, at);
        return nadir_norm_short(model->states, at->difference, p);
    }
    const nadir_row entries = nadir_explicit_row(&at->rows, row);
    minimum = entries.count < nadir_model_total(model) ? 0 : INFINITY;
    for (int64_t i = 0; i < entries.count; i++) {
        sum += entries.values[i];
        minimum = fmin(minimum, entries.values[i]);
    }
    note_row(row, sum, minimum, at);
    if (are_same(&nominal, &entries)) {
        return 0;
    }
    const int64_t length = subtract_nominal(&nominal, &entries, at->difference, &at->off_support);
    return nadir_norm_short(length, at->difference, p);
}

static nadir_status measure_rows(nadir_context *context, const nadir_kernel *kernel, double p,
                                 double *distances, nadir_membership *membership)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    const int threads = nadir_threads_for(context, 4 * model->nonzeros);
    seen *all = NULL;
    NADIR_NEW_ZERO(context, all, threads);
    for (int part = 0; part < threads; part++) {
        all[part].minimum = INFINITY;
        NADIR_CHECK(nadir_explicit_make(context, kernel, &all[part].rows));
        NADIR_NEW(context, all[part].difference, nadir_model_width(model));
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) {
        const int64_t end = (part + 1) * model->rows / threads;
        for (int64_t row = part * model->rows / threads; row < end; row++) {
            if (nadir_progress_team(context, "checking the kernel", -1, &status)) {
                distances[row] = look_at_row(model, row, p, &all[part]);
            }
        }
    }
    if (status != NADIR_OK) {
        goto cleanup;
    }
    *membership = (nadir_membership){.minimum = INFINITY, .minimum_row = -1, .excess_row = -1};
    for (int part = 0; part < threads; part++) {
        membership->row_sum = fmax(membership->row_sum, all[part].row_sum);
        membership->off_support = fmax(membership->off_support, all[part].off_support);
        if (all[part].minimum < membership->minimum) {
            membership->minimum = all[part].minimum;
            membership->minimum_row = all[part].minimum_row;
        }
    }
    membership->row_sum = nadir_join_maximum(context, membership->row_sum);
    membership->off_support = nadir_join_maximum(context, membership->off_support);
    membership->minimum = nadir_join_minimum(context, membership->minimum);
cleanup:
    for (int part = 0; all != NULL && part < threads; part++) {
        nadir_explicit_clear(context, &all[part].rows);
        nadir_release(context, all[part].difference);
    }
    nadir_release(context, all);
    return status;
}

/* One group of rows within one radius: distances are divided by their scales first. */
static void judge_group(const nadir_uncertainty *set, int64_t first, int64_t end, double radius,
                        double *distances, nadir_membership *membership)
{
    double rounding = 0;
    int64_t moved = -1;
    for (int64_t row = first; row < end; row++) {
        const double scale = nadir_uncertainty_scale(set, row);
        if (scale > 0) {
            distances[row] /= scale;
            rounding = fmax(rounding, NADIR_MEMBERSHIP_ROUNDING / scale);
        } else if (distances[row] > 0) { /* a pinned row moved */
            moved = row;
        }
    }
    const double distance = moved >= 0 ? INFINITY : nadir_norm_short(end - first, distances + first, set->p);
    const double beyond = distance - radius * (1 + NADIR_MEMBERSHIP_ROUNDING) - rounding;
    const double excess = beyond > 0 ? (radius > 0 ? beyond / radius : INFINITY) : 0;
    membership->distance = fmax(membership->distance, distance);
    if (excess > membership->excess) {
        membership->excess = excess;
        membership->excess_row = moved >= 0 ? moved : first;
    }
}

/* All rows of all processes within one radius. */
static nadir_status judge_spread(nadir_context *context, const nadir_uncertainty *set, int64_t rows,
                                 double radius, double *distances, nadir_membership *membership)
{
    nadir_status status = NADIR_OK;
    double rounding = 0;
    double distance = INFINITY;
    bool held = true;
    for (int64_t row = 0; row < rows; row++) {
        const double scale = nadir_uncertainty_scale(set, row);
        held = held && (scale > 0 || !(distances[row] > 0)); /* no pinned row moved */
        distances[row] = scale > 0 ? distances[row] / scale : 0;
        rounding = scale > 0 ? fmax(rounding, NADIR_MEMBERSHIP_ROUNDING / scale) : rounding;
    }
    if (nadir_join_all(context, held)) {
        NADIR_CHECK(nadir_norm_p(context, rows, distances, set->p, &distance));
    }
    rounding = nadir_join_maximum(context, rounding);
    const double beyond = distance - radius * (1 + NADIR_MEMBERSHIP_ROUNDING) - rounding;
    membership->distance = distance;
    membership->excess = beyond > 0 ? (radius > 0 ? beyond / radius : INFINITY) : 0;
    membership->excess_row = membership->excess > 0 ? 0 : -1;
cleanup:
    return status;
}

nadir_status nadir_membership_measure(nadir_context *context, const nadir_kernel *kernel,
                                      const nadir_uncertainty *uncertainty, double factor,
                                      nadir_membership *membership)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    double *distances = NULL;
    NADIR_NEW(context, distances, model->rows);
    NADIR_CHECK(measure_rows(context, kernel, uncertainty->p, distances, membership));
    if (uncertainty->set == NADIR_SET_NONRECT && model->exchange != NULL) {
        status = judge_spread(context, uncertainty, model->rows, factor * uncertainty->radius, distances,
                              membership);
        goto cleanup;
    }
    if (uncertainty->set == NADIR_SET_NONRECT) {
        judge_group(uncertainty, 0, model->rows, factor * uncertainty->radius, distances, membership);
        goto cleanup;
    }
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t end = model->state_rows[s + 1];
        const int64_t step = uncertainty->set == NADIR_SET_S ? end - first : 1;
        for (int64_t row = first; row < end; row += step) {
            judge_group(uncertainty, row, row + step, factor * nadir_uncertainty_radius(uncertainty, s, row),
                        distances, membership);
        }
    }
    membership->distance = nadir_join_maximum(context, membership->distance);
    membership->excess = nadir_join_maximum(context, membership->excess);
    membership->excess_row =
        membership->excess > 0 && membership->excess_row < 0 ? 0 : membership->excess_row;
cleanup:
    nadir_release(context, distances);
    return status;
}

nadir_status nadir_membership_check(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_uncertainty *uncertainty, double factor,
                                    nadir_membership *membership)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    char place[NADIR_PLACE_LENGTH];
    NADIR_CHECK(nadir_membership_measure(context, kernel, uncertainty, factor, membership));
    if (membership->row_sum > (double)nadir_model_total(model) * NADIR_MEMBERSHIP_ROUNDING) {
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION, "a row of the kernel sums to 1 only within %g",
                            membership->row_sum);
    } else if (membership->excess > 1e-9) {
        const int64_t row = membership->excess_row;
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                            "the kernel lies outside its ball by a share of %g (%s)", membership->excess,
                            nadir_model_place(model, nadir_model_row_state(model, row), row, place));
    } else if (uncertainty->domain != NADIR_DOMAIN_FREE && membership->minimum < 0) {
        const int64_t row = membership->minimum_row;
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION, "the kernel has the negative entry %g in %s",
                            membership->minimum,
                            nadir_model_place(model, nadir_model_row_state(model, row), row, place));
    } else if (uncertainty->domain == NADIR_DOMAIN_SUPPORT && membership->off_support > 0) {
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                            "the kernel has a successor of probability %g that the nominal one does not have",
                            membership->off_support);
    }
cleanup:
    return status;
}
