/*
 * lmo_streamed.c: the linear minimisation oracle with nothing stored for a row; see lmo.h.
 *
 * With the closed forms of lmo_l2.c: at a given kappa each row is solved, from the set of all entries on,
 * whose level, the mean, is above the solution: levels fall to it. With the sets I of that kappa,
 *
 *     kappa'^2 sum_r u_r^2 V_r = beta^2 - sum_r (m_r^2 / n_r + Q_r) / alpha_r^2
 *
 * gives the next kappa, until it does not change. Since I shrinks as kappa grows, and the norm at a kappa is
 * less than with the I of a smaller one, kappa rises from 0 to its limit; from a warm start it mostly does
 * too, sooner. Solving a row in every pass takes less time than reading and writing its sums.
 */
#include "linalg/threads.h"
#include "sets/lmo_internal.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* States are split into so many parts, whatever the threads: sums do not depend on their number. */
enum { PARTS = 64 };
enum { WARM_LIMIT = 8, COLD_LIMIT = 100, ROW_LIMIT = 2000, RISES = 3 };
/* Rows of up to so many entries are first tried as if nothing were clipped. */
#define SHORT 16
/* beta^2 below this would underflow. */
#define SMALLEST_SQUARE (DBL_MIN / DBL_EPSILON)

bool nadir_lmo_streamed_applies(const nadir_lmo *lmo)
{
    return lmo->p == 2 && lmo->domain == NADIR_DOMAIN_SUPPORT && lmo->model->dense == NULL;
}

/* The solution of a row at a slope, alpha s. */
typedef struct row_solution {
    double omega;
    double n, second, moved, squares, lost; /* of nadir_lmo_l2_sums */
    double variance;                        /* V */
    bool failed;                            /* no level was found at which the mass is right */
} row_solution;

/* Where no entry is clipped at the mean, the mean is the solution. */
static bool is_interior(const nadir_lmo_row_view *view, double mean, double slope, row_solution *solution)
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
    *solution = (row_solution){.omega = mean, .n = (double)view->count, .second = second, .variance = second};
    return true;
}

/* By how much the mass is off. */
static double mass_error(const nadir_lmo_l2_sums *sums, double slope)
{
    return fabs(slope * sums->first + sums->moved);
}

static void solve_row(const nadir_lmo_row_view *view, double slope, row_solution *solution)
{
    double sum = 0;
    for (int64_t i = 0; i < view->count; i++) {
        sum += view->x[i];
    }
    double omega = sum / (double)view->count;
    if (view->count <= SHORT && is_interior(view, omega, slope, solution)) {
        return;
    }
    int rises = 0; /* a level near 0 falls too far by the rounding of the one before */
    nadir_lmo_l2_sums sums = nadir_lmo_l2_sum_row(view, omega, slope);
    for (int i = 0; i < ROW_LIMIT && sums.n > 0; i++) {
        const double next =
            omega + sums.first / sums.n + (sums.moved > 0 ? sums.moved / (sums.n * slope) : 0);
        rises += !(next < omega);
        if (mass_error(&sums, slope) <= NADIR_LMO_MASS_ROUNDING || rises > RISES) {
            break;
        }
        omega = next;
        sums = nadir_lmo_l2_sum_row(view, omega, slope);
    }
    const double variance = sums.n > 0 ? sums.second - sums.first * (sums.first / sums.n) : 0;
    *solution =
        (row_solution){.omega = omega,
                       .n = sums.n,
                       .second = sums.second,
                       .moved = sums.moved,
                       .squares = sums.squares,
                       .lost = sums.lost,
                       .variance = fmax(variance, nadir_round_error(8) * sums.second),
                       .failed = !(sums.n > 0 && mass_error(&sums, slope) <=
                                                     (double)(view->count + 4) * NADIR_LMO_MASS_ROUNDING)};
}

/* Sums of a pass, over the rows of a part or all of them. */
typedef struct totals {
    double variance; /* sum of u^2 V */
    double spent;    /* sum of (m^2 / n + Q) / alpha^2 */
    double gain;     /* sum of w gain, in units of x */
    double square;   /* sum of (|Delta| / alpha)^2 */
    double failed;   /* 1: a row was not solved */
} totals;

typedef struct stream {
    const nadir_lmo *lmo;
    const nadir_lmo_weights *weights;
    nadir_lmo_streamed solution;
    double inverse; /* 1 / solution.unit */
    int threads;
    double *work; /* [threads * each] */
    int64_t each;
} stream;

static void add_row(const stream *self, int64_t row, double weight, double *work, totals *to)
{
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(self->lmo, row, work);
    const double alpha = view.alpha;
    const double u = alpha * weight * self->inverse;
    if (!(u > 0)) {
        return;
    }
    const double step = self->solution.kappa * u;
    const double slope = alpha * step;
    row_solution solved;
    solve_row(&view, slope, &solved);
    to->variance += u * u * solved.variance;
    to->gain += weight * (slope * solved.second + solved.lost);
    to->square += step * step * solved.second;
    if (solved.moved > 0) {
        const double moved = solved.moved / alpha;
        const double squares = solved.squares / alpha / alpha;
        to->spent += moved * moved / solved.n + squares;
        to->square += squares;
    }
    to->failed = solved.failed ? 1 : to->failed;
}

static totals add_part(const stream *self, int part, double *work)
{
    const nadir_model *model = self->lmo->model;
    const int64_t end = model->states * (part + 1) / PARTS;
    totals all = {0};
    for (int64_t s = model->states * part / PARTS; s < end; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double weight = nadir_lmo_weight(self->weights, s, row);
            if (weight > 0) {
                add_row(self, row, weight, work, &all);
            }
        }
    }
    return all;
}

static totals add_rows(const nadir_context *global, const stream *self)
{
    totals parts[PARTS];
    totals all = {0};
#pragma omp parallel for num_threads(self->threads) schedule(dynamic, 1)
    for (int part = 0; part < PARTS; part++) {
        parts[part] = add_part(self, part, self->work + self->each * omp_get_thread_num());
    }
    for (int part = 0; part < PARTS; part++) {
        all.variance += parts[part].variance;
        all.spent += parts[part].spent;
        all.gain += parts[part].gain;
        all.square += parts[part].square;
        all.failed = fmax(all.failed, parts[part].failed);
    }
    if (global != NULL) {
        all.variance = nadir_allreduce_sum(global, all.variance);
        all.spent = nadir_allreduce_sum(global, all.spent);
        all.gain = nadir_allreduce_sum(global, all.gain);
        all.square = nadir_allreduce_sum(global, all.square);
        all.failed = nadir_allreduce_maximum(global, all.failed);
    }
    return all;
}

/* Passes from solution.kappa on until it does not change. *found: false when that does not happen, or the
 * closed form has no solution. */
static nadir_status iterate(nadir_context *context, stream *self, double beta, int limit, totals *all,
                            bool *found)
{
    nadir_status status = NADIR_OK;
    const nadir_context *global = self->lmo->model->exchange != NULL ? context : NULL;
    double last_kappa = 0;
    *found = false;
    for (int i = 0; i < limit && !*found; i++) {
        const double kappa = self->solution.kappa;
        *all = add_rows(global, self);
        NADIR_CHECK(nadir_progress(context, "solving row problems", -1));
        const double left = beta * beta - all->spent;
        if (all->failed > 0 || !(left > 0 && all->variance > 0)) {
            break;
        }
        const bool exact =
            fabs(kappa * kappa * all->variance - left) <= NADIR_LMO_MASS_ROUNDING * beta * beta;
        const bool still = fabs(kappa - last_kappa) <= NADIR_LMO_LEVEL_ROUNDING * last_kappa;
        *found = kappa > 0 && (exact || still);
        last_kappa = kappa;
        self->solution.kappa = *found ? kappa : sqrt(left / all->variance);
    }
cleanup:
    return status;
}

/* The largest alpha w. */
static double find_unit(const nadir_lmo *lmo, const nadir_lmo_weights *weights)
{
    const nadir_model *model = lmo->model;
    double unit = 0;
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const double reach = nadir_lmo_scale(lmo, row) * nadir_lmo_weight(weights, s, row);
            unit = reach > unit ? reach : unit;
        }
    }
    return unit;
}

nadir_status nadir_lmo_streamed_solve(nadir_context *context, const nadir_lmo *lmo,
                                      const nadir_lmo_weights *weights, double beta, double start,
                                      nadir_lmo_streamed *streamed, nadir_lmo_budget *budget, bool *found)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    const double range = lmo->order->range;
    const double within = beta * NADIR_LMO_INSIDE;
    totals all;
    stream self = {.lmo = lmo,
                   .weights = weights,
                   .each = nadir_lmo_longest_row(model, 0, model->rows),
                   .threads = nadir_threads_for(context, 4 * model->row_starts[model->rows])};
    double unit = find_unit(lmo, weights);
    unit = model->exchange != NULL ? nadir_allreduce_maximum(context, unit) : unit;
    *found = false;
    if (!(unit >= DBL_MIN && range > 0 && within * within > SMALLEST_SQUARE)) {
        goto cleanup;
    }
    NADIR_NEW(context, self.work, self.threads * self.each);
    self.solution = (nadir_lmo_streamed){.kappa = start * unit, .unit = unit};
    self.inverse = 1 / unit;
    if (start > 0 && isfinite(self.solution.kappa)) {
        NADIR_CHECK(iterate(context, &self, within, WARM_LIMIT, &all, found));
    }
    if (!*found) {
        self.solution.kappa = 0;
        NADIR_CHECK(iterate(context, &self, within, COLD_LIMIT, &all, found));
    }
    if (*found) {
        *streamed = self.solution;
        *budget = (nadir_lmo_budget){.tau = range * unit / (2 * streamed->kappa),
                                     .step = streamed->kappa / unit,
                                     .gain = all.gain * range,
                                     .norm = sqrt(all.square)};
    }
cleanup:
    nadir_release(context, self.work);
    return status;
}

/* work: as long as the row. */
static void write_row(const stream *self, int64_t row, double weight, double *work,
                      const nadir_perturbed *perturbed)
{
    const nadir_model *model = self->lmo->model;
    const double alpha = nadir_lmo_scale(self->lmo, row);
    const double slope = alpha * (self->solution.kappa * (alpha * weight * self->inverse));
    perturbed->nominal[row] = !(slope > 0);
    if (perturbed->nominal[row]) {
        return;
    }
    const nadir_lmo_row_view view = nadir_lmo_row_view_make(self->lmo, row, work);
    double *values = perturbed->values + model->row_starts[row];
    row_solution solved;
    solve_row(&view, slope, &solved);
    for (int64_t i = 0; i < view.count; i++) {
        const double value = view.phat[i] + slope * (solved.omega - view.x[i]);
        values[i] = value > 0 ? value : 0;
    }
}

nadir_status nadir_lmo_streamed_kernel(nadir_context *context, const nadir_lmo *lmo,
                                       const nadir_lmo_weights *weights, const nadir_lmo_streamed *streamed,
                                       nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = lmo->model;
    nadir_perturbed *perturbed;
    stream self = {.lmo = lmo,
                   .weights = weights,
                   .solution = *streamed,
                   .inverse = 1 / streamed->unit,
                   .each = nadir_lmo_longest_row(model, 0, model->rows),
                   .threads = nadir_threads_for(context, 2 * model->row_starts[model->rows])};
    NADIR_NEW(context, self.work, self.threads * self.each);
    NADIR_CHECK(nadir_lmo_kernel_blank(context, lmo, kernel, &perturbed));
#pragma omp parallel for num_threads(self.threads) schedule(static)
    for (int64_t s = 0; s < model->states; s++) {
        double *work = self.work + self.each * omp_get_thread_num();
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            write_row(&self, row, nadir_lmo_weight(weights, s, row), work, perturbed);
        }
    }
cleanup:
    nadir_release(context, self.work);
    return status;
}
