/*
 * step.c: the linear step of all rows with nothing kept for a row; see step.h.
 *
 * With the closed forms of quadratic.c: at a given kappa each row is solved to its end, from the set of all
 * entries on, whose level, the mean, is above the answer: levels fall to it. From sets I that belong to kappa
 *
 *     kappa'^2 sum_r u_r^2 V_r = beta^2 - sum_r (m_r^2 / n_r + Q_r) / alpha_r^2
 *
 * makes the next kappa, until it stays. Since I shrinks as kappa grows, and the norm at a kappa is less than
 * with the I of a smaller one, kappa rises from 0 on and ends; from an old answer it mostly does too, sooner.
 * Solving a row anew in every pass takes less time than reading and writing what there would be to keep.
 */
#include "adversary/rows/lmo.h"

#include "adversary/rows/lmo_internal.h"
#include "linalg/threads.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* States are taken in so many parts, whatever the threads: sums come out the same. */
enum { PARTS = 64 };
enum { WARM_LIMIT = 8, COLD_LIMIT = 100, ROW_LIMIT = 2000, RISES = 3 };
/* Rows of so many entries are first tried as if nothing were clipped. */
#define SHORT 16
/* Of less nothing would be left of beta^2. */
#define LEAST_SQUARE (DBL_MIN / DBL_EPSILON)

bool nadir_lmo_streamed_applies(const nadir_lmo *rows)
{
    return rows->p == 2 && rows->domain == NADIR_DOMAIN_SUPPORT && rows->model->dense == NULL;
}

/* The answer of a row at a slope, alpha s. */
typedef struct solved {
    double omega;
    double n, second, moved, squares, lost; /* of nadir_lmo_l2_sums */
    double variance;                        /* V */
    bool astray;                            /* no level was found at which the mass is right */
} solved;

/* Where no entry is clipped at the mean, that is the answer. */
static bool is_interior(const nadir_lmo_row_view *view, double mean, double slope, solved *to)
{
    double lowest = 0;
    double first = 0;
    double second = 0;
    for (int64_t i = 0; i < view->count; i++) {
        const double d = view->x[i] - mean;
        const double above = view->phat[i] - slope * d;
        lowest = above < lowest ? above : lowest;
        first += d;
        second += d * d;
    }
    if (lowest < 0 || !(fabs(slope * first) <= NADIR_LMO_MASS_ROUNDING)) {
        return false;
    }
    *to = (solved){.omega = mean, .n = (double)view->count, .second = second, .variance = second};
    return true;
}

/* By how much the mass is off. */
static double excess_of(const nadir_lmo_l2_sums *sums, double slope)
{
    return fabs(slope * sums->first + sums->moved);
}

static void solve_row(const nadir_lmo_row_view *view, double slope, solved *to)
{
    double sum = 0;
    for (int64_t i = 0; i < view->count; i++) {
        sum += view->x[i];
    }
    double omega = sum / (double)view->count;
    if (view->count <= SHORT && is_interior(view, omega, slope, to)) {
        return;
    }
    int rises = 0; /* a level next to nothing falls too far by the rounding of the one before */
    nadir_lmo_l2_sums sums = nadir_lmo_l2_sum_row(view, omega, slope);
    for (int i = 0; i < ROW_LIMIT && sums.n > 0; i++) {
        const double next =
            omega + sums.first / sums.n + (sums.moved > 0 ? sums.moved / (sums.n * slope) : 0);
        rises += !(next < omega);
        if (excess_of(&sums, slope) <= NADIR_LMO_MASS_ROUNDING || rises > RISES) {
            break;
        }
        omega = next;
        sums = nadir_lmo_l2_sum_row(view, omega, slope);
    }
    const double variance = sums.n > 0 ? sums.second - sums.first * (sums.first / sums.n) : 0;
    *to = (solved){.omega = omega,
                   .n = sums.n,
                   .second = sums.second,
                   .moved = sums.moved,
                   .squares = sums.squares,
                   .lost = sums.lost,
                   .variance = fmax(variance, 4 * DBL_EPSILON * sums.second),
                   .astray = !(sums.n > 0 && excess_of(&sums, slope) <=
                                                 (double)(view->count + 4) * NADIR_LMO_MASS_ROUNDING)};
}

/* What a pass adds up, over the rows of a part or all of them. */
typedef struct totals {
    double variance; /* sum of u^2 V */
    double spent;    /* sum of (m^2 / n + Q) / alpha^2 */
    double gain;     /* sum of w gain, in units of x */
    double square;   /* sum of (|Delta| / alpha)^2 */
    double astray;   /* 1: a row without an answer */
} totals;

typedef struct passing {
    const nadir_lmo *rows;
    const nadir_lmo_weights *weights;
    nadir_lmo_streamed step;
    double inverse; /* of step.unit */
    int threads;
    double *room; /* [threads * each] */
    int64_t each;
} passing;

static void add_row(const passing *at, int64_t row, double weight, double *room, totals *to)
{
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(at->rows, row, room);
    const double alpha = view.alpha;
    const double share = alpha * weight * at->inverse;
    if (!(share > 0)) {
        return;
    }
    const double step = at->step.kappa * share;
    const double slope = alpha * step;
    solved row_is;
    solve_row(&view, slope, &row_is);
    to->variance += share * share * row_is.variance;
    to->gain += weight * (slope * row_is.second + row_is.lost);
    to->square += step * step * row_is.second;
    if (row_is.moved > 0) {
        const double moved = row_is.moved / alpha;
        const double squares = row_is.squares / alpha / alpha;
        to->spent += moved * moved / row_is.n + squares;
        to->square += squares;
    }
    to->astray = row_is.astray ? 1 : to->astray;
}

static totals add_part(const passing *at, int part, double *room)
{
    const nadir_model *model = at->rows->model;
    const int64_t end = model->states * (part + 1) / PARTS;
    totals all = {0};
    for (int64_t s = model->states * part / PARTS; s < end; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double weight = nadir_lmo_weight(at->weights, s, row);
            if (weight > 0) {
                add_row(at, row, weight, room, &all);
            }
        }
    }
    return all;
}

static totals pass(const nadir_context *whole, const passing *at)
{
    totals parts[PARTS];
    totals all = {0};
#pragma omp parallel for num_threads(at->threads) schedule(dynamic, 1)
    for (int part = 0; part < PARTS; part++) {
        parts[part] = add_part(at, part, at->room + at->each * omp_get_thread_num());
    }
    for (int part = 0; part < PARTS; part++) {
        all.variance += parts[part].variance;
        all.spent += parts[part].spent;
        all.gain += parts[part].gain;
        all.square += parts[part].square;
        all.astray = fmax(all.astray, parts[part].astray);
    }
    if (whole != NULL) {
        all.variance = nadir_allreduce_sum(whole, all.variance);
        all.spent = nadir_allreduce_sum(whole, all.spent);
        all.gain = nadir_allreduce_sum(whole, all.gain);
        all.square = nadir_allreduce_sum(whole, all.square);
        all.astray = nadir_allreduce_maximum(whole, all.astray);
    }
    return all;
}

/* Passes from step.kappa on until it stays. *found: false when that does not happen, or the closed form has
 * no answer. */
static nadir_status iterate(nadir_context *context, passing *at, double beta, int limit, totals *all,
                            bool *found)
{
    nadir_status status = NADIR_OK;
    const nadir_context *whole = at->rows->model->exchange != NULL ? context : NULL;
    double before = 0;
    *found = false;
    for (int i = 0; i < limit && !*found; i++) {
        const double kappa = at->step.kappa;
        *all = pass(whole, at);
        NADIR_CHECK(nadir_progress(context, "solving row problems", -1));
        const double left = beta * beta - all->spent;
        if (all->astray > 0 || !(left > 0 && all->variance > 0)) {
            break;
        }
        const bool exact =
            fabs(kappa * kappa * all->variance - left) <= NADIR_LMO_MASS_ROUNDING * beta * beta;
        const bool still = fabs(kappa - before) <= NADIR_LMO_LEVEL_ROUNDING * before;
        *found = kappa > 0 && (exact || still);
        before = kappa;
        at->step.kappa = *found ? kappa : sqrt(left / all->variance);
    }
cleanup:
    return status;
}

/* The largest alpha w, and the longest row. */
static double find_unit(const nadir_lmo *rows, const nadir_lmo_weights *weights, int64_t *longest)
{
    const nadir_model *model = rows->model;
    double unit = 0;
    *longest = 0;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double reach = nadir_lmo_scale(rows, row) * nadir_lmo_weight(weights, s, row);
            const int64_t length = model->row_starts[row + 1] - model->row_starts[row];
            unit = reach > unit ? reach : unit;
            *longest = length > *longest ? length : *longest;
        }
    }
    return unit;
}

nadir_status nadir_lmo_streamed_solve(nadir_context *context, const nadir_lmo *rows,
                                      const nadir_lmo_weights *weights, double beta, double start,
                                      nadir_lmo_streamed *step, nadir_lmo_budget *budget, bool *found)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = rows->model;
    const double range = rows->order->range;
    const double within = beta * NADIR_LMO_INSIDE;
    totals all;
    passing at = {.rows = rows,
                  .weights = weights,
                  .threads = nadir_threads_for(context, 4 * model->row_starts[model->rows])};
    double unit = find_unit(rows, weights, &at.each);
    unit = model->exchange != NULL ? nadir_allreduce_maximum(context, unit) : unit;
    *found = false;
    if (!(unit >= DBL_MIN && range > 0 && within * within > LEAST_SQUARE)) {
        goto cleanup;
    }
    NADIR_NEW(context, at.room, at.threads * at.each);
    at.step = (nadir_lmo_streamed){.kappa = start * unit, .unit = unit};
    at.inverse = 1 / unit;
    if (start > 0 && isfinite(at.step.kappa)) {
        NADIR_CHECK(iterate(context, &at, within, WARM_LIMIT, &all, found));
    }
    if (!*found) {
        at.step.kappa = 0;
        NADIR_CHECK(iterate(context, &at, within, COLD_LIMIT, &all, found));
    }
    if (*found) {
        *step = at.step;
        *budget = (nadir_lmo_budget){.tau = range * unit / (2 * step->kappa),
                                     .step = step->kappa / unit,
                                     .gain = all.gain * range,
                                     .norm = sqrt(all.square)};
    }
cleanup:
    nadir_release(context, at.room);
    return status;
}

/* room: as long as the row. */
static void write_row(const passing *at, int64_t row, double weight, double *room,
                      const nadir_perturbed *perturbed)
{
    const nadir_model *model = at->rows->model;
    const double alpha = nadir_lmo_scale(at->rows, row);
    const double slope = alpha * (at->step.kappa * (alpha * weight * at->inverse));
    perturbed->nominal[row] = !(slope > 0);
    if (perturbed->nominal[row]) {
        return;
    }
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(at->rows, row, room);
    double *values = perturbed->values + model->row_starts[row];
    solved row_is;
    solve_row(&view, slope, &row_is);
    for (int64_t i = 0; i < view.count; i++) {
        const double value = view.phat[i] + slope * (row_is.omega - view.x[i]);
        values[i] = value > 0 ? value : 0;
    }
}

nadir_status nadir_lmo_streamed_kernel(nadir_context *context, const nadir_lmo *rows,
                                       const nadir_lmo_weights *weights, const nadir_lmo_streamed *step,
                                       nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = rows->model;
    nadir_perturbed *perturbed;
    passing at = {.rows = rows,
                  .weights = weights,
                  .step = *step,
                  .inverse = 1 / step->unit,
                  .threads = nadir_threads_for(context, 2 * model->row_starts[model->rows])};
    (void)find_unit(rows, weights, &at.each);
    NADIR_NEW(context, at.room, at.threads * at.each);
    NADIR_CHECK(nadir_lmo_kernel_blank(context, rows, kernel, &perturbed));
#pragma omp parallel for num_threads(at.threads) schedule(static)
    for (int64_t s = 0; s < model->states; s++) {
        double *room = at.room + at.each * omp_get_thread_num();
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            write_row(&at, row, nadir_lmo_weight(weights, s, row), room, perturbed);
        }
    }
cleanup:
    nadir_release(context, at.room);
    return status;
}
