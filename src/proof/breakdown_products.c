/*
 * breakdown_products.c: a bound on |Phi D W|_2 from a pass over P^pi and a few solves: the better of two.
 *
 * One: with e = P^pi 1 - 1, which is rounding, D = I + gamma P^pi D gives for X = Phi D W
 *
 *     X = Phi W + gamma (Phi P^pi Phi) X + gamma Phi e (1^T D W) / S,   so
 *     |X|_2 (1 - gamma |Phi P^pi Phi|_F) <= max W (1 + gamma |e|_2 / (1 - gamma |P^pi|)).
 *
 * Two: let m be the column minima of P^pi. P^pi >= 1 m^T, so D >= gamma D P^pi >= gamma / (1 - gamma) 1 m^T
 * and D >= gamma P^pi D >= gamma 1 m^T D: with r the larger of both, entry by entry, and of the true minima
 * of the few columns of D with the largest column sums of P^pi, B = (D - 1 r^T) W >= 0, Phi B = Phi D W, and
 * for any x > 0
 *
 *     |B|_2^2 <= max_i (B^T B x)_i / x_i,
 *
 * which power steps lower. B x is rounded up before B^T is applied: B >= 0, so the bound stays one. Where
 * solves are iterations the power steps are inexact, and the quotient is taken once, of the last x. With
 * `thorough` every backend takes the same accurate steps, at least as many as either kind takes.
 */
#include "proof/breakdown.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <math.h>
#include <string.h>

enum { STEPS = 4, ROUGH_STEPS = 2, COLUMNS = 128, HEAVY = 8 };
#define WORTH    0.95 /* another power step has to lower the bound to this share of it */
#define SMALLEST 1e-6 /* entry of x, relative to the largest */
#define ROUGH    1e-2 /* relative error of rough power steps */
#define CLOSE    1e-3 /* what errors of solves may add to an entry of B^T B x, as a share of the mean */
#define GOOD     2.0  /* times max W: the first bound is good enough */
#define MASS     0.05 /* of the sum of all columns: columns with less together are not worth a solve */

/* Sums and minima of M, which is P^pi up to the error of averaging: [states] each. */
typedef struct average_scan {
    double *sums;    /* of rows */
    double *squares; /* of the entries of rows, summed */
    double *columns; /* sums of columns */
    double *minima;  /* of columns, entries that are not stored included */
    double *work;    /* [3 * states] */
} average_scan;

static void scan_row(int64_t count, const double *values, double *sum, double *squares)
{
    *sum = 0;
    *squares = 0;
    for (int64_t i = 0; i < count; i++) {
        *sum += values[i];
        *squares += values[i] * values[i];
    }
}

static void scan_dense(const nadir_context *context, const nadir_matrix *matrix, average_scan *scan)
{
    const int64_t n = matrix->size;
    const int threads = nadir_threads_for(context, n * n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t s = 0; s < n; s++) {
        scan_row(n, matrix->dense + s * n, &scan->sums[s], &scan->squares[s]);
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < n; first += COLUMNS) {
        const int64_t count = first + COLUMNS < n ? COLUMNS : n - first;
        double sums[COLUMNS] = {0};
        double minima[COLUMNS];
        memcpy(minima, matrix->dense + first, (size_t)count * sizeof *minima);
        for (int64_t s = 0; s < n; s++) {
            const double *row = matrix->dense + s * n + first;
            for (int64_t j = 0; j < count; j++) {
                sums[j] += row[j];
                minima[j] = row[j] < minima[j] ? row[j] : minima[j];
            }
        }
        memcpy(scan->columns + first, sums, (size_t)count * sizeof *sums);
        memcpy(scan->minima + first, minima, (size_t)count * sizeof *minima);
    }
}

/* A sparse matrix. With rows on several processes the sums of ghosts are sent to their owners, and minima are
 * taken to be 0: those that matter are raised to the minima of D. */
static nadir_status scan_sparse(nadir_context *context, const nadir_matrix *matrix,
                                const nadir_exchange *exchange, average_scan *scan)
{
    nadir_status status = NADIR_OK;
    const int64_t n = matrix->size;
    const int64_t width = exchange != NULL ? matrix->width : n;
    double *sums = NULL;
    NADIR_NEW_ZERO(context, sums, 2 * width);
    double *stored = sums + width; /* entries of the columns */
    for (int64_t s = 0; s < n; s++) {
        const int64_t start = matrix->starts[s];
        const int64_t count = matrix->starts[s + 1] - start;
        scan_row(count, matrix->values + start, &scan->sums[s], &scan->squares[s]);
        for (int64_t i = start; i < start + count; i++) {
            const int64_t t = matrix->columns[i];
            const double value = matrix->values[i];
            if (t < n) {
                scan->minima[t] = stored[t] == 0 || value < scan->minima[t] ? value : scan->minima[t];
            }
            sums[t] += value;
            stored[t]++;
        }
    }
    memcpy(scan->columns, sums, (size_t)n * sizeof *sums);
    if (exchange != NULL) {
        exchange->table->add(exchange->table->self, exchange->plan, sums + n, scan->columns);
    }
    for (int64_t t = 0; t < n; t++) {
        scan->minima[t] = exchange == NULL && stored[t] == (double)n ? scan->minima[t] : 0;
    }
cleanup:
    nadir_release(context, sums);
    return status;
}

/* The largest and smallest row sum of P^pi, rounding included. */
static void range_of_sums(const nadir_context *context, const nadir_breakdown_operator *self,
                          const average_scan *scan, double *low, double *high)
{
    const int64_t n = self->problem->states;
    const int64_t total = nadir_model_total(self->problem->model);
    const double off = nadir_round_error((double)(total + 2)) + 2 * self->solver.averaging;
    *low = INFINITY;
    *high = 0;
    for (int64_t s = 0; s < n; s++) {
        *low = scan->sums[s] < *low ? scan->sums[s] : *low;
        *high = scan->sums[s] > *high ? scan->sums[s] : *high;
    }
    *low = nadir_allreduce_minimum(context, *low) * (1 - off);
    *high = nadir_allreduce_maximum(context, *high) * (1 + off);
}

/* At least |Phi P^pi Phi|_F: its square is sum M^2 - sum (column sums)^2 / S - sum (row sums)^2 / S + (sum
 * M)^2 / S^2, four sums of positive terms. */
static double centred_norm(const nadir_context *context, const nadir_breakdown_operator *self,
                           const average_scan *scan)
{
    const int64_t n = self->problem->states;
    const double size = (double)nadir_model_total(self->problem->model);
    double squares = 0;
    double rows = 0;
    double columns = 0;
    double total = 0;
    for (int64_t s = 0; s < n; s++) {
        squares += scan->squares[s];
        rows += scan->sums[s] / size * scan->sums[s];
        columns += scan->columns[s] / size * scan->columns[s];
        total += scan->sums[s] / size;
    }
    squares = nadir_allreduce_sum(context, squares);
    rows = nadir_allreduce_sum(context, rows);
    columns = nadir_allreduce_sum(context, columns);
    total = nadir_allreduce_sum(context, total);
    const double sum = squares + rows + columns + total * total;
    const double square =
        (squares - rows) + (total * total - columns) + nadir_round_error(4 * size + 32) * sum;
    return nadir_round_up(sqrt(square) + self->solver.averaging * sqrt(squares) * 1.01, 8);
}

/* The first bound; infinity where it does not hold. */
static double bound_by_centring(const nadir_context *context, const nadir_breakdown_operator *self,
                                const average_scan *scan)
{
    const double gamma = self->problem->gamma;
    double low;
    double high;
    range_of_sums(context, self, scan, &low, &high);
    const double off =
        fmax(fabs(high - 1), fabs(1 - low)) * sqrt((double)nadir_model_total(self->problem->model));
    const double rest = nadir_round_below(1 - gamma * centred_norm(context, self, scan), 1, 4);
    if (!(rest > 0)) {
        return INFINITY;
    }
    return nadir_round_up(
        self->W_largest * (1 + nadir_verified_solve_error(&self->solver, gamma * off)) / rest, 8);
}

/* minima <- r, rounded down. */
static nadir_status raise_minima(nadir_context *context, const nadir_breakdown_operator *self,
                                 const average_scan *scan)
{
    const int64_t n = self->problem->states;
    const double gamma = self->problem->gamma;
    double *through = scan->work; /* D^T m */
    nadir_solve_error error;
    double low;
    double high;
    double mass = 0;
    for (int64_t t = 0; t < n; t++) {
        scan->minima[t] *= 1 - 2 * self->solver.averaging;
        mass += scan->minima[t];
    }
    if (nadir_allreduce_sum(context, mass) == 0) {
        return NADIR_OK;
    }
    range_of_sums(context, self, scan, &low, &high);
    const double least =
        1 / (nadir_round_up(1 - gamma * fmin(low, 1), 4) + nadir_round_error(4)); /* of D 1 */
    NADIR_TRY(nadir_verified_solve(context, self->problem, &self->solver, true, scan->minima, 0, NULL, 0,
                                   through, &error));
    for (int64_t t = 0; t < n; t++) {
        const double direct = scan->minima[t] * least;
        scan->minima[t] = nadir_round_down(gamma * fmax(direct, through[t] - error.error), 8);
    }
    return NADIR_OK;
}

/* The `count` states, numbered over all processes, with the largest W times column sum of M, largest first.
 * *share: their share of the sum over all states. */
static nadir_status find_heavy(nadir_context *context, const nadir_breakdown_operator *self,
                               const average_scan *scan, int64_t count, int64_t *which, double *share)
{
    const nadir_communication *table = context->communication;
    nadir_indexed own[HEAVY];
    nadir_indexed heaviest[HEAVY];
    double found[HEAVY] = {0};
    double all = 0;
    double heavy = 0;
    int64_t many = 0;
    *share = 0;
    if (count < 1) {
        return NADIR_OK;
    }
    for (int64_t t = 0; t < self->problem->states; t++) {
        const double weight = self->W[t] * scan->columns[t];
        all += weight;
        if (many > 0 && many == count && !(weight > found[count - 1])) {
            continue;
        }
        int64_t place = many < count ? many++ : count - 1;
        for (; place > 0 && weight > found[place - 1]; place--) {
            found[place] = found[place - 1];
            which[place] = which[place - 1];
        }
        found[place] = weight;
        which[place] = t;
    }
    for (int64_t i = 0; i < many; i++) {
        own[i] = (nadir_indexed){found[i], nadir_model_first(self->problem->model) + which[i]};
    }
    NADIR_TRY(table->top(table->self, context, many, own, count, heaviest, &many));
    for (int64_t i = 0; i < many; i++) {
        heavy += heaviest[i].value;
        which[i] = heaviest[i].place;
    }
    *share = heavy / nadir_allreduce_sum(context, all);
    return NADIR_OK;
}

/* r, in scan->minima, raised to the true column minima of D, rounded down, of a few states. */
static nadir_status raise_heavy(nadir_context *context, const nadir_breakdown_operator *self,
                                const average_scan *scan)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    const int64_t total = nadir_model_total(self->problem->model);
    const int64_t first = nadir_model_first(self->problem->model);
    const int64_t count = total < HEAVY ? total : HEAVY;
    int64_t which[HEAVY] = {0};
    double *columns = NULL;
    double residual;
    double share;
    NADIR_CHECK(find_heavy(context, self, scan, count, which, &share));
    if (share < MASS) {
        return NADIR_OK;
    }
    NADIR_NEW(context, columns, n * count);
    NADIR_CHECK(nadir_verified_solve_columns(context, self->problem, &self->solver, count, which, columns,
                                             &residual));
    const double error = nadir_verified_solve_error(&self->solver, residual);
    for (int64_t j = 0; j < count; j++) {
        double smallest = INFINITY;
        for (int64_t s = 0; s < n; s++) {
            smallest = fmin(smallest, columns[j * n + s]);
        }
        smallest = nadir_allreduce_minimum(context, smallest);
        const int64_t place = which[j] - first;
        if (place >= 0 && place < n) {
            scan->minima[place] = fmax(scan->minima[place], nadir_round_down(smallest - error, 2));
        }
    }
cleanup:
    nadir_release(context, columns);
    return status;
}

/* z >= B^T B x, entry by entry; w and y: [states] to work with. */
static nadir_status apply_twice(nadir_context *context, const nadir_breakdown_operator *self, const double *r,
                                const double *x, double *w, double *y, double *z)
{
    const int64_t n = self->problem->states;
    nadir_solve_error error;
    const double close = self->thorough ? 0 : CLOSE;
    double rounding;
    double sum = 0;
    for (int64_t s = 0; s < n; s++) {
        w[s] = nadir_round_up(self->W[s] * x[s], 2);
    }
    memset(y, 0, (size_t)n * sizeof *y);
    NADIR_TRY(nadir_verified_solve(context, self->problem, &self->solver, false, w, 0, y, close, y, &error));
    const double shift = nadir_global_dot(context, n, r, w, &rounding);
    const double above = error.error + rounding + nadir_round_error(4) * (error.largest + shift);
    for (int64_t s = 0; s < n; s++) {
        y[s] = fmax(y[s] - shift, 0) + above;
        sum += y[s];
    }
    sum = nadir_allreduce_sum(context, sum);
    const double total = (double)nadir_model_total(self->problem->model);
    const double sum_low = nadir_round_down(sum, total);
    memset(z, 0, (size_t)n * sizeof *z);
    NADIR_TRY(nadir_verified_solve(context, self->problem, &self->solver, true, y, 0, z, close / total, z,
                                   &error)); /* the error is that of the sum of all entries */
    for (int64_t s = 0; s < n; s++) {
        const double rest =
            z[s] - r[s] * sum_low + error.error + nadir_round_error(4) * (fabs(z[s]) + r[s] * sum);
        z[s] = nadir_round_up(self->W[s] * fmax(rest, 0), 4);
    }
    return NADIR_OK;
}

/* x <- about B^T B x, of largest entry 1, and positive; w and y: [states] to work with. */
static nadir_status step_roughly(nadir_context *context, const nadir_breakdown_operator *self,
                                 const double *r, double *x, double *w, double *y)
{
    const int64_t n = self->problem->states;
    double rounding;
    for (int64_t s = 0; s < n; s++) {
        w[s] = self->W[s] * x[s];
    }
    NADIR_TRY(nadir_occupancy_solve_roughly(context, self->problem->occupancy, false, 1, w, ROUGH, y));
    const double shift = nadir_global_dot(context, n, r, w, &rounding);
    for (int64_t s = 0; s < n; s++) {
        y[s] = fmax(y[s] - shift, 0);
    }
    const double sum = nadir_global_sum(context, n, y);
    NADIR_TRY(nadir_occupancy_solve_roughly(context, self->problem->occupancy, true, 1, y, ROUGH, w));
    for (int64_t s = 0; s < n; s++) {
        x[s] = self->W[s] * fmax(w[s] - r[s] * sum, 0);
    }
    const double largest = nadir_global_largest(context, n, x);
    for (int64_t s = 0; s < n; s++) {
        x[s] = largest > 0 ? fmax(x[s] / largest, SMALLEST) : 1;
    }
    return NADIR_OK;
}

/* The second bound; r: [states], work: [3 * states]. */
static nadir_status bound_by_quotient(nadir_context *context, const nadir_breakdown_operator *self,
                                      const double *r, double *work, double *norm)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    double *x = NULL;
    double *y = work;
    double *z = work + n;
    double best = INFINITY;
    NADIR_NEW(context, x, n);
    for (int64_t s = 0; s < n; s++) {
        x[s] = 1;
    }
    const bool iterates = nadir_occupancy_iterates(self->problem->occupancy);
    const bool rough = iterates && !self->thorough;
    const int least = !self->thorough ? 1 : iterates ? STEPS : ROUGH_STEPS + 1;
    for (int step = 0; step < ROUGH_STEPS && rough; step++) {
        NADIR_CHECK(step_roughly(context, self, r, x, work + 2 * n, y));
    }
    for (int step = 0; step < (rough ? 1 : STEPS); step++) {
        double quotient = 0;
        NADIR_CHECK(apply_twice(context, self, r, x, work + 2 * n, y, z));
        const double largest = nadir_global_largest(context, n, z);
        for (int64_t s = 0; s < n; s++) {
            quotient = fmax(quotient, z[s] / x[s]);
            x[s] = largest > 0 ? fmax(z[s] / largest, SMALLEST) : 1;
        }
        quotient = nadir_allreduce_maximum(context, quotient);
        const bool worth = quotient < WORTH * best || step + 1 < least;
        best = fmin(best, quotient);
        if (!worth) {
            break;
        }
    }
    *norm = nadir_round_up(sqrt(best), 4);
cleanup:
    nadir_release(context, x);
    return status;
}

nadir_status nadir_breakdown_by_products(nadir_context *context, const nadir_breakdown_operator *self,
                                         double *norm)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->problem->states;
    const nadir_average *average = nadir_occupancy_average(self->problem->occupancy);
    const nadir_matrix *matrix = &average->matrix;
    double *numbers = NULL;
    double other;
    NADIR_NEW(context, numbers, 7 * n);
    average_scan scan = {numbers, numbers + n, numbers + 2 * n, numbers + 3 * n, numbers + 4 * n};
    if (average->device_matrix != NULL) {
        const nadir_device_matrix_sums wanted = {scan.sums, scan.squares, scan.columns, scan.minima};
        NADIR_CHECK(average->device->matrix_sums(average->device_matrix, context, &wanted));
    } else if (matrix->dense != NULL) {
        scan_dense(context, matrix, &scan);
    } else {
        NADIR_CHECK(scan_sparse(context, matrix, self->problem->model->exchange, &scan));
    }
    *norm = fmin(*norm, bound_by_centring(context, self, &scan));
    if (*norm > GOOD * self->W_largest && self->solver.gap > 0) {
        NADIR_CHECK(raise_minima(context, self, &scan));
        NADIR_CHECK(raise_heavy(context, self, &scan));
        NADIR_CHECK(bound_by_quotient(context, self, scan.minima, scan.work, &other));
        *norm = fmin(*norm, other);
    }
cleanup:
    nadir_release(context, numbers);
    return status;
}
