/*
 * sensitivity.c: what rows can do to an occupancy; see perturbable_rows.h.
 *
 * Rows that allow all states are of two kinds. Where at least three quarters of X are positive, all count as
 * such: sigma is then the same for all these rows, and little is lost. Others have their c by Newton steps on
 *
 *     F(c) = sum over all states of max(0, g - c) - sum where X > 0 of max(0, c - g),
 *
 * convex and falling, from the c of the row before; the sums over all states are those of order.h. With x of
 * order.h, of -g, g - c = range (level - x). Rows with lists of successors sum over these. Any c is valid, and
 * the bound is flat around the best one.
 */
#include "proof/perturbable_rows.h"

#include "core/round.h"
#include "linalg/threads.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { STEPS = 8, BLOCK = 32 }; /* Newton steps at most; states per block of rows */
#define CLOSE 1e-4              /* relative step of c that ends Newton: sigma^2 is off by less than 1e-7 */
#define FEW   0.75              /* share of positive entries below which a row is treated entry by entry */

void nadir_sensitivity_clear(nadir_context *context, nadir_sensitivity *sensitivity)
{
    for (int part = 0; part < sensitivity->threads; part++) {
        if (sensitivity->rising != NULL) {
            nadir_value_order_clear(context, &sensitivity->rising[part]);
        }
        if (sensitivity->falling != NULL) {
            nadir_value_order_clear(context, &sensitivity->falling[part]);
        }
    }
    nadir_release(context, sensitivity->rising);
    nadir_release(context, sensitivity->falling);
    nadir_release(context, sensitivity->negative);
    nadir_release(context, sensitivity->starts);
    nadir_release(context, sensitivity->positive);
    nadir_release(context, sensitivity->full);
    *sensitivity = (nadir_sensitivity){0};
}

/* The number of positive entries of a row that has few; 0 otherwise. */
static int64_t count_few(const nadir_perturbable_rows *perturbable, const double *X, int64_t i)
{
    const int64_t length = nadir_perturbable_rows_length(perturbable, i);
    const double *row = X + perturbable->starts[i];
    int64_t count = 0;
    for (int64_t j = 0; j < length; j++) {
        count += row[j] > 0;
    }
    return (double)count < FEW * (double)length ? count : 0;
}

static double row_square(const nadir_perturbable_rows *perturbable, int64_t i)
{
    const double reach = nadir_perturbable_rows_alpha(perturbable, i) * perturbable->pi[i];
    return reach * reach;
}

/* Entries in all lists. */
static int64_t count_listed(const nadir_sensitivity *sensitivity)
{
    return sensitivity->starts != NULL ? sensitivity->starts[sensitivity->perturbable->count] : 0;
}

/* Lists of positive entries, and the sums of rows that need none. */
static void list_positive(nadir_sensitivity *sensitivity)
{
    const nadir_perturbable_rows *perturbable = sensitivity->perturbable;
    for (int64_t s = 0; s < perturbable->states; s++) {
        sensitivity->full[s] = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1] && sensitivity->starts != NULL;
             i++) {
            int64_t next = sensitivity->starts[i];
            if (sensitivity->starts[i + 1] == next) {
                sensitivity->full[s] += row_square(perturbable, i);
            }
            for (int64_t j = 0; next < sensitivity->starts[i + 1]; j++) {
                if (sensitivity->X[perturbable->starts[i] + j] > 0) {
                    sensitivity->positive[next++] = (int32_t)j;
                }
            }
        }
    }
}

static bool is_symmetric(const nadir_sensitivity *sensitivity)
{
    if (sensitivity->starts != NULL) {
        return count_listed(sensitivity) == 0;
    }
    for (int64_t e = 0; e < sensitivity->perturbable->entries; e++) {
        if (!(sensitivity->X[e] > 0)) {
            return false;
        }
    }
    return true;
}

nadir_status nadir_sensitivity_make(nadir_context *context, const nadir_perturbable_rows *perturbable,
                                    const double *X, nadir_sensitivity *sensitivity)
{
    nadir_status status = NADIR_OK;
    *sensitivity = (nadir_sensitivity){.perturbable = perturbable, .X = X};
    NADIR_NEW(context, sensitivity->full, perturbable->states);
    if (perturbable->columns == NULL) { /* rows that allow all states */
        NADIR_NEW(context, sensitivity->starts, perturbable->count + 1);
        sensitivity->starts[0] = 0;
        for (int64_t i = 0; i < perturbable->count; i++) {
            sensitivity->starts[i + 1] =
                sensitivity->starts[i] + (X != NULL ? count_few(perturbable, X, i) : 0);
        }
    }
    sensitivity->symmetric = is_symmetric(sensitivity);
    NADIR_NEW(context, sensitivity->positive, count_listed(sensitivity));
    list_positive(sensitivity);
    sensitivity->threads = nadir_threads_for(context, 16 * perturbable->states * perturbable->states);
    NADIR_NEW_ZERO(context, sensitivity->rising, sensitivity->threads);
    NADIR_NEW_ZERO(context, sensitivity->falling, sensitivity->threads);
    NADIR_NEW_ZERO(context, sensitivity->negative, sensitivity->threads * perturbable->states);
    /* without lists no sorting is needed, which saves memory on large models */
    for (int part = 0; part < sensitivity->threads && count_listed(sensitivity) > 0; part++) {
        NADIR_CHECK(nadir_value_order_make(context, perturbable->states, sensitivity->negative,
                                           &sensitivity->rising[part]));
        NADIR_CHECK(nadir_value_order_make(context, perturbable->states, sensitivity->negative,
                                           &sensitivity->falling[part]));
    }
cleanup:
    if (status != NADIR_OK) {
        nadir_sensitivity_clear(context, sensitivity);
    }
    return status;
}

/* At least sigma^2 of a row that allows all states; order: of -g. *start: where Newton starts, and has ended. */
static double spread_square(const nadir_value_order *order, int64_t count, const int32_t *positive,
                            double *start)
{
    double level = *start;
    double above = 0;
    nadir_value_order_sums below = {0};
    for (int step = 0;; step++) {
        double first = 0;
        int64_t more = 0;
        above = 0;
        for (int64_t j = 0; j < count; j++) {
            const double far = order->x[positive[j]] - level;
            first += far > 0 ? far : 0;
            above += far > 0 ? far * far : 0;
            more += far >= 0; /* those at the level move with it */
        }
        below = nadir_value_order_below(order, level);
        const double move = (below.first - first) / (double)(below.count + more);
        if (step == STEPS || !(fabs(move) > CLOSE * level)) {
            break;
        }
        level -= move;
    }
    *start = level;
    /* x is off by a few roundings of 1 */
    const double root = sqrt(below.second + above) + nadir_round_error(8) * sqrt((double)order->states);
    return root * order->range * root * order->range;
}

/* The same for a row with a list of successors, for g and for -g; equal where no entry is zero. */
typedef struct squares {
    double up, down;
} squares;

/* For sign g, some entry being zero. c: the mean over X > 0. */
static double one_sided_square(int64_t count, const int32_t *columns, const double *X, const double *g,
                               double sign, double c)
{
    for (int step = 0; step < STEPS; step++) {
        double sum = 0;
        int64_t active = 0;
        for (int64_t j = 0; j < count; j++) {
            const double far = sign * g[columns[j]] - c;
            const bool counts = X[j] > 0 || far > 0;
            sum += counts ? far : 0;
            active += counts;
        }
        c += sum / (double)active;
        if (!(sum > CLOSE * fabs(c))) {
            break;
        }
    }
    double square = 0;
    for (int64_t j = 0; j < count; j++) {
        const double far = sign * g[columns[j]] - c;
        square += X[j] > 0 || far > 0 ? far * far : 0;
    }
    return square;
}

static inline squares listed_squares(int64_t count, const int32_t *columns, const double *X, const double *g)
{
    double c = 0;
    int64_t positive = 0;
    for (int64_t j = 0; j < count; j++) {
        c += X[j] > 0 ? g[columns[j]] : 0;
        positive += X[j] > 0;
    }
    c /= (double)positive;
    if (positive < count) {
        return (squares){one_sided_square(count, columns, X, g, 1, c),
                         one_sided_square(count, columns, X, g, -1, -c)};
    }
    double square = 0;
    for (int64_t j = 0; j < count; j++) {
        const double far = g[columns[j]] - c;
        square += far * far;
    }
    return (squares){square, square};
}

/* The sums over the rows of one state. falling, rising: orders of -g and g. whole: |g|^2. levels: of the row
 * before. */
static squares state_squares(const nadir_sensitivity *sensitivity, int64_t state,
                             const nadir_value_order *falling, const nadir_value_order *rising,
                             const double *g, double whole, squares *levels)
{
    const nadir_perturbable_rows *perturbable = sensitivity->perturbable;
    /* two sums over all states, squared */
    const double factor = 1 + nadir_round_error(2 * (double)(2 * perturbable->total + 64));
    squares sum = {sensitivity->full[state] * whole, sensitivity->full[state] * whole};
    for (int64_t i = perturbable->first[state]; i < perturbable->first[state + 1]; i++) {
        squares row = {0};
        if (perturbable->columns != NULL) {
            const int64_t start = perturbable->starts[i];
            row = listed_squares(perturbable->starts[i + 1] - start, perturbable->columns + start,
                                 sensitivity->X + start, g);
        } else if (sensitivity->starts[i + 1] > sensitivity->starts[i]) {
            const int64_t first = sensitivity->starts[i];
            const int64_t count = sensitivity->starts[i + 1] - first;
            row.up = spread_square(falling, count, sensitivity->positive + first, &levels->up);
            row.down = spread_square(rising, count, sensitivity->positive + first, &levels->down);
        }
        sum.up += row_square(perturbable, i) * row.up;
        sum.down += row_square(perturbable, i) * row.down;
    }
    return (squares){sum.up * factor + DBL_MIN, sum.down * factor + DBL_MIN};
}

/* One column, with the orders of the thread. threads: number of threads to use. */
static nadir_status fill_column(nadir_context *context, const nadir_sensitivity *sensitivity, int thread,
                                int threads, const double *g, double *up, double *down)
{
    const int64_t n = sensitivity->perturbable->states;
    nadir_value_order *rising = &sensitivity->rising[thread];
    nadir_value_order *falling = &sensitivity->falling[thread];
    double *negative = sensitivity->negative + thread * n;
    double whole = 0;
    for (int64_t j = 0; j < n; j++) {
        negative[j] = -g[j];
        whole += g[j] * g[j];
    }
    if (count_listed(sensitivity) > 0) {
        NADIR_TRY(nadir_value_order_make(context, n, g, rising));
        NADIR_TRY(nadir_value_order_make(context, n, negative, falling));
    }
    squares levels;
#pragma omp parallel for num_threads(threads) schedule(static, BLOCK) private(levels)
    for (int64_t s = 0; s < n; s++) {
        levels = s % BLOCK == 0 ? (squares){0.5, 0.5} : levels; /* whatever the number of threads */
        const squares k = state_squares(sensitivity, s, falling, rising, g, whole, &levels);
        up[s] = k.up;
        if (down != NULL) {
            down[s] = k.down;
        }
    }
    return NADIR_OK;
}

nadir_status nadir_sensitivity_tables(nadir_context *context, nadir_sensitivity *sensitivity, int64_t count,
                                      const double *g, double *up, double *down)
{
    const int64_t n = sensitivity->perturbable->states;
    if (count == 1) {
        const int threads = nadir_threads_for(context, 4 * sensitivity->perturbable->entries);
        return fill_column(context, sensitivity, 0, threads, g, up, down);
    }
    const int64_t batch = 8 * (int64_t)sensitivity->threads; /* between two looks at whether to stop */
    int failures = 0; /* nothing is allocated: only numbers that are not finite can fail */
    for (int64_t first = 0; first < count; first += batch) {
        const int64_t last = first + batch < count ? first + batch : count;
#pragma omp parallel for num_threads(sensitivity->threads) schedule(static) reduction(+ : failures)
        for (int64_t t = first; t < last; t++) {
            failures += fill_column(context, sensitivity, omp_get_thread_num(), 1, g + t * n, up + t * n,
                                    down != NULL ? down + t * n : NULL) != NADIR_OK;
        }
        NADIR_TRY(nadir_progress(context, "bounding occupancies", -1));
    }
    return failures == 0 ? NADIR_OK : NADIR_ERROR_ARGUMENT;
}

nadir_status nadir_sensitivity_costs(nadir_context *context, const nadir_sensitivity *sensitivity,
                                     const bool *which, const double *v, double *found)
{
    nadir_status status = NADIR_OK;
    const nadir_perturbable_rows *perturbable = sensitivity->perturbable;
    const int64_t n = perturbable->states;
    const double factor = 1 + nadir_round_error(2 * (double)(2 * perturbable->total + 64)); /* as above */
    int64_t longest = 0; /* row: of several processes it may have more successors than this one has states */
    double *c = NULL;
    int32_t *places = NULL;
    for (int64_t i = 0; i < perturbable->count; i++) {
        const int64_t length = nadir_perturbable_rows_length(perturbable, i);
        longest = length > longest ? length : longest;
    }
    NADIR_NEW(context, c, longest);
    NADIR_NEW(context, places, longest);
    for (int64_t j = 0; j < longest; j++) {
        places[j] = (int32_t)j;
    }
    for (int64_t s = 0; s < n; s++) {
        double sum = 0;
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1] && which[s]; i++) {
            const int64_t start = perturbable->starts[i];
            const int64_t length = nadir_perturbable_rows_length(perturbable, i);
            for (int64_t j = 0; j < length; j++) {
                c[j] = v[nadir_perturbable_rows_column(perturbable, i, j)] + perturbable->landing[start + j];
            }
            sum +=
                row_square(perturbable, i) * listed_squares(length, places, sensitivity->X + start, c).down;
        }
        found[s] = which[s] ? sum * factor + DBL_MIN : 0;
    }
cleanup:
    nadir_release(context, c);
    nadir_release(context, places);
    return status;
}

/* ------------------------------------------------------------------------------------------- weights */

/* sum of (g - c)^2 / omega of one row with a list of successors, c the mean. */
static double weighted_square(const nadir_perturbable_rows *perturbable, int64_t i,
                              const double *inverse_weights, const double *g)
{
    const int64_t start = perturbable->starts[i];
    const int64_t length = perturbable->starts[i + 1] - start;
    const int32_t *columns = perturbable->columns + start;
    const double *weights = inverse_weights + start;
    double mass = 0;
    double mean = 0;
    double square = 0;
    for (int64_t j = 0; j < length; j++) {
        mass += weights[j];
        mean += weights[j] * g[columns[j]];
    }
    mean /= mass;
    for (int64_t j = 0; j < length; j++) {
        const double far = g[columns[j]] - mean;
        square += weights[j] * far * far;
    }
    return square;
}

static void weigh_lists(nadir_context *context, const nadir_perturbable_rows *perturbable,
                        const double *inverse_weights, int64_t count, const double *g, double *both)
{
    const int64_t n = perturbable->states;
    const int threads = nadir_threads_for(context, 4 * count * perturbable->entries);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < count; t++) {
        for (int64_t s = 0; s < n; s++) {
            double sum = 0;
            for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
                sum +=
                    row_square(perturbable, i) * weighted_square(perturbable, i, inverse_weights, g + t * n);
            }
            /* two sums over the entries of rows; DBL_MIN pays for underflow */
            both[t * n + s] = nadir_round_up(sum, 2 * (double)(2 * n + 64)) + DBL_MIN;
        }
    }
}

/* both = sum of (alpha pi)^2 sum of g^2 / omega, by one product of matrices. room, sums: [states * count],
 * [states * states] work space. */
static void weigh_squares(const nadir_perturbable_rows *perturbable, const double *inverse_weights,
                          int64_t count, const double *g, double *room, double *sums, double *both)
{
    const int64_t n = perturbable->states;
    for (int64_t e = 0; e < n * count; e++) {
        room[e] = g[e] * g[e];
    }
    memset(sums, 0, (size_t)(n * n) * sizeof *sums);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            cblas_daxpy((blasint)n, row_square(perturbable, i), inverse_weights + perturbable->starts[i], 1,
                        sums + s * n, 1);
        }
    }
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)count, (blasint)n, 1, sums,
                (blasint)n, room, (blasint)n, 0, both, (blasint)n);
}

/* both -= sum of (alpha pi)^2 (sum of g / omega)^2 / sum of 1 / omega, over the rows of states first .. end -
 * 1. means: [rows * count] work space. */
static void take_means(const nadir_perturbable_rows *perturbable, const double *inverse_weights,
                       int64_t count, const double *g, int64_t first, int64_t end, double *means,
                       double *both)
{
    const int64_t n = perturbable->states;
    const int64_t begin = perturbable->first[first];
    const int64_t rows = perturbable->first[end] - begin;
    if (rows == 0) {
        return;
    }
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (blasint)rows, (blasint)count, (blasint)n, 1,
                inverse_weights + perturbable->starts[begin], (blasint)n, g, (blasint)n, 0, means,
                (blasint)rows);
    for (int64_t s = first; s < end; s++) {
        for (int64_t i = perturbable->first[s]; i < perturbable->first[s + 1]; i++) {
            double mass = 0;
            for (int64_t j = 0; j < n; j++) {
                mass += inverse_weights[perturbable->starts[i] + j];
            }
            const double factor = row_square(perturbable, i) / mass;
            for (int64_t t = 0; t < count; t++) {
                const double sum = means[t * rows + i - begin];
                both[t * n + s] -= factor * sum * sum;
            }
        }
    }
}

/* Rows that allow all states. The error of the first part is n + A + 3 roundings of itself; that of the
 * second, by Cauchy and Schwarz, 2 n + 8 roundings of the first part, which is the larger one. */
static nadir_status weigh_rows(nadir_context *context, const nadir_perturbable_rows *perturbable,
                               const double *inverse_weights, int64_t count, const double *g, double *both)
{
    nadir_status status = NADIR_OK;
    const int64_t n = perturbable->states;
    int64_t most = 0;
    for (int64_t s = 0; s < n; s++) {
        const int64_t rows = perturbable->first[s + 1] - perturbable->first[s];
        most = rows > most ? rows : most;
    }
    const double off = nadir_round_error((double)(4 * n + most + 64));
    double *room = NULL;
    double *sums = NULL;
    double *means = NULL;
    NADIR_NEW(context, room, n * count);
    NADIR_NEW(context, sums, n * n);
    NADIR_NEW(context, means, BLOCK * most * count);
    const int before = nadir_blas_threads(nadir_threads_for_blas(context, count * perturbable->entries));
    weigh_squares(perturbable, inverse_weights, count, g, room, sums, both);
    memcpy(room, both, (size_t)(n * count) * sizeof *room);
    for (int64_t first = 0; first < n; first += BLOCK) {
        take_means(perturbable, inverse_weights, count, g, first, first + BLOCK < n ? first + BLOCK : n,
                   means, both);
    }
    nadir_blas_restore(before);
    for (int64_t e = 0; e < n * count; e++) {
        both[e] = fmax(both[e], 0) + off * room[e] + DBL_MIN;
    }
cleanup:
    nadir_release(context, room);
    nadir_release(context, sums);
    nadir_release(context, means);
    return status;
}

nadir_status nadir_sensitivity_weighted(nadir_context *context, const nadir_perturbable_rows *perturbable,
                                        const double *inverse_weights, int64_t count, const double *g,
                                        double *both)
{
    if (perturbable->columns == NULL) {
        return weigh_rows(context, perturbable, inverse_weights, count, g, both);
    }
    weigh_lists(context, perturbable, inverse_weights, count, g, both);
    return NADIR_OK;
}
