/*
 * backends.c: the list of backends, the choice among them, and which systems and sizes the direct ones refuse.
 *
 * The choice compares what an analysis would cost with each backend: one factorisation and SOLVES solves with
 * a direct one, SOLVES * ITERATIONS products with krylov. It uses sizes and predicted fill and never a clock:
 * the same model gets the same backend everywhere.
 */
#include "solve/backend.h"
#include "solve/direct_solver.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Assumed, not measured: how many solves an analysis makes, and how many products krylov needs for each (few
 * where a model mixes well, hundreds where ways are long). */
#define SOLVES     50
#define ITERATIONS 50

/* Seconds on one thread of a 2.6 GHz Zen 4 core (docs/benchmarks.md); only their ratios matter.
 * DENSE_FLOP: dgetrf, S=1000 17.6 ms, S=2000 121 ms. DENSE_ENTRY: dgetrs for each entry of the factors,
 * S=1000 0.14 ms, S=2000 1.1 ms. SPARSE_STATE: klu_analyze and the bookkeeping of klu_factor, chains of S=300
 * 45 us, S=1e5 21 ms. SPARSE_FLOP: klu_factor, grid 300 x 300 0.45 s for 9.6e8. SPARSE_ENTRY: klu_solve, 1 ns
 * in the cache, 2.5 ns out of it. PRODUCT_ENTRY: CSR product, 0.5 to 1.3 ns. PRODUCT_STATE: a vector made
 * orthogonal to 15 others, 1.7 to 3.2 ns. */
#define DENSE_FLOP    2.6e-11
#define DENSE_ENTRY   2.5e-10
#define SPARSE_STATE  2e-7
#define SPARSE_FLOP   5e-10
#define SPARSE_ENTRY  1.5e-9
#define PRODUCT_ENTRY 1e-9
#define PRODUCT_STATE 3e-9

/* At this size factors of a dense matrix take 0.8 GB and, by the rates above, 17 s on one thread. */
#define DENSE_STATES 10000

/* With a device: dense matrices up to this size are factored at once, in less than a millisecond; larger ones
 * when iterations turn out to be slow (device_backends.c). */
#define DEVICE_DENSE_STATES 512

/* Share of the memory still free that factors may take. */
#define MEMORY_SHARE 0.5

/*
 * Ordering a graph without small separators costs much and finds nothing: klu_analyze takes 7 ms on a garnet
 * of 2000 states, 65 ms of 5000, 250 ms of 20000, to predict factors that are full. Larger graphs are ordered
 * only when they look flat: triangular, or narrow for a breadth-first search.
 */
#define ORDERED_STATES 2000
#define NARROW         8 /* levels of at most this many times sqrt(S) states: 1 on a square grid */

static const nadir_backend *const backends[] = {&nadir_backend_lapack,
                                                &nadir_backend_klu,
                                                &nadir_backend_krylov,
                                                &nadir_backend_petsc,
                                                &nadir_backend_device_lu,
                                                &nadir_backend_device_krylov,
                                                NULL};

const nadir_backend *nadir_backend_find(const char *name)
{
    const nadir_backend *const *self = backends;
    while (*self != NULL && strcmp((*self)->name, name) != 0) {
        self++;
    }
    return *self;
}

/* "a, b and c" of all backends, into text[size]. */
static void list_names(size_t size, char *text)
{
    size_t used = 0;
    text[0] = '\0';
    for (const nadir_backend *const *backend = backends; *backend != NULL && used < size; backend++) {
        const char *between = backend == backends ? "" : backend[1] != NULL ? ", " : " and ";
        const int length = snprintf(text + used, size - used, "%s%s", between, (*backend)->name);
        used += length > 0 ? (size_t)length : 0;
    }
}

nadir_status nadir_backend_named(nadir_context *context, const char *name, const nadir_backend **backend)
{
    const bool automatic = name == NULL || strcmp(name, "auto") == 0;
    char names[160];
    *backend = automatic ? NULL : nadir_backend_find(name);
    if (automatic || *backend != NULL) {
        return NADIR_OK;
    }
    list_names(sizeof names, names);
    return nadir_fail(context, NADIR_ERROR_ARGUMENT, "there is no backend '%s'; there are %s", name, names);
}

/* ------------------------------------------------------------------------- the choice */

/* No way leads back to states with smaller, or with greater numbers, as when time is part of the state. */
static bool is_triangular(const nadir_matrix *matrix)
{
    bool upper = true;
    bool lower = true;
    for (int64_t s = 0; s < matrix->size && (upper || lower); s++) {
        const int64_t start = matrix->starts[s];
        const int64_t end = matrix->starts[s + 1];
        upper = upper && (start == end || matrix->columns[start] >= s);
        lower = lower && (start == end || matrix->columns[end - 1] <= s);
    }
    return upper || lower;
}

/* Appends the successors of states queue[first..end) that were not seen before; returns the new end. */
static int64_t next_level(const nadir_matrix *matrix, int64_t first, int64_t end, int64_t longest, bool *seen,
                          int32_t *queue)
{
    int64_t to = end;
    for (int64_t k = first; k < end; k++) {
        const int64_t start = matrix->starts[queue[k]];
        const int64_t length = matrix->starts[queue[k] + 1] - start;
        for (int64_t i = start; i < start + length && length <= longest; i++) {
            const int32_t state = matrix->columns[i];
            queue[to] = state;
            to += !seen[state];
            seen[state] = true;
        }
    }
    return to;
}

/* Whether every level of a breadth-first search is narrow. States with very long rows are not followed, since
 * an ordering sets them apart; a search stops at the first level that is too wide, which in a random graph is
 * soon. */
static nadir_status is_narrow(nadir_context *context, const nadir_matrix *matrix, bool *narrow)
{
    nadir_status status = NADIR_OK;
    const int64_t n = matrix->size;
    const int64_t widest = (int64_t)(NARROW * sqrt((double)n));
    bool *seen = NULL;
    int32_t *queue = NULL;
    NADIR_NEW_ZERO(context, seen, n);
    NADIR_NEW(context, queue, n + 1); /* one more: a state is put there before it is looked at */
    *narrow = true;
    int64_t end = 0;
    for (int64_t s = 0; s < n && *narrow; s++) {
        int64_t first = end;
        if (!seen[s]) {
            seen[s] = true;
            queue[end++] = (int32_t)s;
        }
        while (first < end && *narrow) {
            const int64_t next = next_level(matrix, first, end, widest, seen, queue);
            first = end;
            end = next;
            *narrow = end - first <= widest;
        }
    }
cleanup:
    NADIR_RELEASE(context, seen, queue);
    return status;
}

static bool fits(const nadir_context *context, double bytes)
{
    const double limit = (double)nadir_memory_limit(context->memory);
    return bytes <= MEMORY_SHARE * (limit - (double)nadir_memory_used(context->memory));
}

static double lapack_cost(const nadir_context *context, int64_t states)
{
    const double n = (double)states;
    if (states > DENSE_STATES || !fits(context, n * n * (double)sizeof(double))) {
        return INFINITY;
    }
    return 2.0 / 3 * n * n * n * DENSE_FLOP + SOLVES * n * n * DENSE_ENTRY;
}

/* Infinite where it is more than `most` before anything is analysed. */
static nadir_status klu_cost(nadir_context *context, const nadir_matrix *matrix, double most, double *cost)
{
    nadir_status status = NADIR_OK;
    const double n = (double)matrix->size;
    const double entries = (double)matrix->starts[matrix->size];
    bool ordered = matrix->size <= ORDERED_STATES || is_triangular(matrix);
    nadir_fill fill;
    *cost = INFINITY;
    /* such rows fill the factors whatever the order */
    if (n * SPARSE_STATE > most || entries > n * sqrt(n) + 2 * n) {
        return NADIR_OK;
    }
    if (!ordered) {
        NADIR_CHECK(is_narrow(context, matrix, &ordered));
    }
    if (ordered) {
        status = nadir_klu_predict(context, matrix, &fill);
        if (status == NADIR_ERROR_UNSUPPORTED) { /* too large for its integers */
            return NADIR_OK;
        }
        if (status == NADIR_OK && fits(context, fill.bytes)) {
            *cost = n * SPARSE_STATE + fill.flops * SPARSE_FLOP + SOLVES * fill.entries * SPARSE_ENTRY;
        }
    }
cleanup:
    return status;
}

static nadir_status choose_host(nadir_context *context, nadir_average *average, const nadir_backend **backend)
{
    const nadir_matrix *matrix = &average->matrix;
    const int64_t n = matrix->size;
    const double lapack = lapack_cost(context, n);
    double klu = INFINITY;
    double krylov = INFINITY; /* an accurate factor is worth more than a dense product saves */
    if (matrix->dense == NULL) {
        const double product = (double)matrix->starts[n] * PRODUCT_ENTRY + (double)n * PRODUCT_STATE;
        krylov = SOLVES * ITERATIONS * product;
        NADIR_TRY(klu_cost(context, matrix, lapack, &klu));
    }
    if (klu < lapack && klu <= krylov) {
        *backend = &nadir_backend_klu;
    } else if (lapack < INFINITY && lapack <= krylov) {
        *backend = &nadir_backend_lapack;
    } else {
        *backend = &nadir_backend_krylov;
    }
    nadir_log(context, NADIR_LOG_DEBUG, "backend %s: predicted costs are lapack %.2g, klu %.2g, krylov %.2g",
              (*backend)->name, lapack, klu, krylov);
    return NADIR_OK;
}

/*
 * With a device: what would be factored as a dense matrix, or iterated, is so there. A sparse factorisation
 * is worth its while here, but to look for one in a large graph costs more than the device needs for all.
 */
static nadir_status choose_device(nadir_context *context, nadir_average *average,
                                  const nadir_backend **backend)
{
    const int64_t n = average->states;
    if (n > (nadir_average_is_dense(average) ? DEVICE_DENSE_STATES : NADIR_DEVICE_ORDERED_STATES)) {
        *backend = &nadir_backend_device_krylov;
    } else if (nadir_average_is_dense(average)) {
        *backend = &nadir_backend_device_lu;
    } else {
        NADIR_TRY(nadir_average_fetch(context, average));
        NADIR_TRY(choose_host(context, average, backend));
        *backend = *backend == &nadir_backend_lapack   ? &nadir_backend_device_lu
                   : *backend == &nadir_backend_krylov ? &nadir_backend_device_krylov
                                                       : *backend;
    }
    return NADIR_OK;
}

nadir_status nadir_backend_choose(nadir_context *context, nadir_average *average,
                                  const nadir_backend **backend)
{
    return (context->device != NULL ? choose_device : choose_host)(context, average, backend);
}

/* ------------------------------------------------------------------------- direct backends */

/* A reciprocal condition number below states * DBL_EPSILON leaves no digit of a solution. */
static double least_condition(int64_t states)
{
    return (double)states * DBL_EPSILON;
}

void nadir_dominance_add(nadir_dominance *dominance, int64_t state, double diagonal, double sum)
{
    const double slack = 2 * diagonal - sum;
    if (!isfinite(sum)) {
        dominance->broken = state < dominance->broken ? state : dominance->broken;
        return;
    }
    dominance->norm = sum > dominance->norm ? sum : dominance->norm;
    dominance->slack = slack < dominance->slack ? slack : dominance->slack;
}

void nadir_dominance_join(nadir_dominance *dominance, const nadir_dominance *other)
{
    dominance->norm = fmax(dominance->norm, other->norm);
    dominance->slack = fmin(dominance->slack, other->slack);
    dominance->broken = other->broken < dominance->broken ? other->broken : dominance->broken;
}

nadir_status nadir_dominance_check(nadir_context *context, const nadir_dominance *dominance)
{
    if (dominance->broken == INT64_MAX) {
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                      "I - gamma P has a number that is not finite in the row of state %lld",
                      (long long)dominance->broken);
}

bool nadir_dominance_suffices(const nadir_dominance *dominance, int64_t states)
{
    /* slack and norm are sums of up to `states` terms: rounding may hide as much as the threshold itself */
    return dominance->slack > 4 * least_condition(states) * dominance->norm;
}

nadir_status nadir_direct_check_condition(nadir_context *context, int64_t states, double reciprocal)
{
    if (reciprocal >= least_condition(states)) { /* false for NaN */
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                      "I - gamma P is singular to working precision: its reciprocal condition number is "
                      "about %.2g, below %.2g no digit is left",
                      reciprocal, least_condition(states));
}

nadir_status nadir_direct_singular(nadir_context *context, int64_t state)
{
    return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                      "I - gamma P is singular: the row of state %lld depends on other rows",
                      (long long)state);
}

nadir_status nadir_direct_check_memory(nadir_context *context, const char *backend, double bytes)
{
    const double gibibyte = 1024.0 * 1024 * 1024;
    const double limit = (double)nadir_memory_limit(context->memory);
    const double left = limit - (double)nadir_memory_used(context->memory);
    if (bytes <= left) {
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_MEMORY,
                      "backend %s needs %.3g GiB for its factors and %.3g GiB are left of the memory limit; "
                      "backend krylov needs no factors",
                      backend, bytes / gibibyte, fmax(left, 0) / gibibyte);
}
