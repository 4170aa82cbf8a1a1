/* occupancy.c: operators D = (I - gamma P^pi)^-1 made, updated and perturbed; see occupancy.h. */
#include "solve/occupancy.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "solve/occupancy_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DEFAULT_TOLERANCE 1e-12

/* Up to this many states a perturbed kernel is factored rather than iterated with the factors of its base. */
#define FACTORED_STATES 64

/* Tails of a perturbed kernel are written out, unasked, up to this many times the entries of M. */
#define TAIL_SHARE 4
/* And for a backend of a device that was asked for, up to this many entries: those of kernels too small to be
 * averaged there. */
#define TAIL_LIMIT 65536

/* What was found of the average, which is another one now. */
static void forget(nadir_occupancy *occupancy)
{
    memset(occupancy->roundings, 0, sizeof occupancy->roundings);
    occupancy->duration = 0;
}

static bool is_direct(const nadir_backend *backend)
{
    return backend != NULL && nadir_backend_has(backend, NADIR_BACKEND_DIRECT);
}

static void add_statistics(int sign, const nadir_backend_statistics *more, nadir_backend_statistics *total)
{
    total->factor_seconds += sign * more->factor_seconds;
    total->factorings += sign * more->factorings;
    total->solves += sign * more->solves;
    total->iterations += sign * more->iterations;
}

static void release_backend(nadir_context *context, nadir_occupancy *occupancy)
{
    if (occupancy->backend != NULL && occupancy->self != NULL) {
        nadir_occupancy_statistics(occupancy, &occupancy->spent);
        occupancy->backend->destroy(context, occupancy->self);
        occupancy->self = NULL;
    }
}

void nadir_occupancy_free(nadir_context *context, nadir_occupancy *occupancy)
{
    if (occupancy == NULL) {
        return;
    }
    nadir_release(context, occupancy->gmres_work);
    release_backend(context, occupancy);
    if (occupancy->counted_by != NULL) {
        add_statistics(1, &occupancy->spent, &occupancy->counted_by->spent);
        add_statistics(-1, &occupancy->inherited, &occupancy->counted_by->spent);
    }
    nadir_average_clear(context, &occupancy->average);
    NADIR_RELEASE(context, occupancy->update.z, occupancy->update.w, occupancy->work, occupancy->norms,
                  occupancy);
}

double nadir_occupancy_gamma(const nadir_occupancy *occupancy)
{
    return occupancy->gamma;
}

nadir_average *nadir_occupancy_average(nadir_occupancy *occupancy)
{
    return &occupancy->average;
}

const char *nadir_occupancy_backend(const nadir_occupancy *occupancy)
{
    return occupancy->root->backend->name;
}

void nadir_occupancy_statistics(const nadir_occupancy *occupancy, nadir_backend_statistics *statistics)
{
    const nadir_occupancy *worker = occupancy->root;
    nadir_backend_statistics now = {0};
    if (worker->self != NULL) {
        worker->backend->statistics(worker->self, &now);
    }
    add_statistics(1, &worker->spent, &now);
    *statistics = now;
}

/*
 * gamma = 1: w = M w + 1 but for a residual, so that w - P^pi w >= 1 - lack, lack < 1. P^pi >= 0, w >= 0: then I - P^pi
 * is an M-matrix, and D 1 <= w / (1 - lack). What M and P^pi differ by counts as residual.
 */
nadir_status nadir_occupancy_find_duration(nadir_context *context, nadir_occupancy *occupancy,
                                           int64_t actions)
{
    nadir_status status = NADIR_OK;
    const int64_t n = occupancy->average.states;
    nadir_accuracy accuracy;
    double *w = NULL;
    if (occupancy->gamma != 1 || occupancy->duration > 0) {
        return NADIR_OK;
    }
    NADIR_NEW(context, w, n);
    for (int64_t s = 0; s < n; s++) {
        w[s] = 1;
    }
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, w, w, &accuracy));
    double low = INFINITY;
    double high = 0;
    for (int64_t s = 0; s < n; s++) {
        low = fmin(low, w[s]);
        high = fmax(high, w[s]);
    }
    const double averaging = nadir_round_error((double)actions + 4) * occupancy->average.norm * high;
    const double lack = nadir_round_up(accuracy.residual + averaging, 8);
    occupancy->duration = low > 0 && lack < 0.5 ? nadir_round_up(high / (1 - lack), 8) : INFINITY;
cleanup:
    nadir_release(context, w);
    return status;
}

double nadir_occupancy_gap(const nadir_occupancy *occupancy)
{
    if (occupancy->gamma == 1) {
        return occupancy->duration > 0 ? nadir_round_down(1 / occupancy->duration, 4) : 0;
    }
    return 1 - occupancy->gamma * occupancy->average.norm;
}

nadir_status nadir_occupancy_check_ready(nadir_context *context, const nadir_occupancy *occupancy)
{
    const nadir_occupancy *root = occupancy->root;
    if (occupancy->ready && root->ready && occupancy->updates == root->updates) {
        return NADIR_OK;
    }
    if (occupancy->updates != root->updates) { /* the matrix borrowed from it may be gone */
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the base of the perturbed operator was updated since; make another");
    }
    return nadir_fail(context, NADIR_ERROR_ILL_POSED, "the last update of the occupancy operator failed");
}

void nadir_occupancy_set_tolerance(nadir_occupancy *occupancy, double tolerance)
{
    occupancy->tolerance = tolerance > 0 ? tolerance : DEFAULT_TOLERANCE;
}

double nadir_occupancy_tolerance(const nadir_occupancy *occupancy)
{
    return occupancy->tolerance;
}

bool nadir_occupancy_iterates(const nadir_occupancy *occupancy)
{
    return occupancy->preconditioned || !is_direct(occupancy->root->backend);
}

bool nadir_occupancy_has(const nadir_occupancy *occupancy, unsigned capability)
{
    return nadir_backend_has(occupancy->root->backend, capability);
}

static nadir_status compute_denominator(nadir_context *context, nadir_sherman_morrison *update)
{
    double sum = 0;
    double size = 0;
    for (int64_t s = 0; s < update->states; s++) {
        const double term = update->gamma * update->k[s] * update->z[s];
        sum += term;
        size += fabs(term);
    }
    sum = nadir_allreduce_sum(context, sum);
    size = 1 + nadir_allreduce_sum(context, size);
    update->denominator = 1 + sum;
    if (!(fabs(update->denominator) > NADIR_DENOMINATOR_LIMIT * size)) {
        return nadir_fail(
            context, NADIR_ERROR_ILL_POSED,
            "the kernel makes I - gamma P singular: 1 + gamma k.Db is %g, which is zero to working "
            "precision; a smaller radius keeps away from it",
            update->denominator);
    }
    return NADIR_OK;
}

/* z = A^-1 b and w = A^-T k for the rank-one term of the average; the term is left out meanwhile. To
 * rounding, whatever tolerance was asked: near breakdown every product hangs on the last digits of the
 * denominator. */
static nadir_status start_update(nadir_context *context, nadir_occupancy *occupancy)
{
    nadir_status status = NADIR_OK;
    nadir_average *average = &occupancy->average;
    const int64_t n = average->states;
    const double *b = average->b;
    const double *k = average->k;
    occupancy->update.b = NULL;
    if (b == NULL) {
        return NADIR_OK;
    }
    if (occupancy->update.z == NULL) {
        NADIR_NEW(context, occupancy->update.z, n);
    }
    if (occupancy->update.w == NULL) {
        NADIR_NEW(context, occupancy->update.w, n);
    }
    const double norm = average->norm;
    const double tolerance = occupancy->tolerance;
    occupancy->tolerance = DBL_MIN;
    average->b = NULL;
    average->norm = occupancy->root != occupancy ? occupancy->root->average.norm : 1;
    status = nadir_refinement_solve(context, occupancy, false, 1, b, 0, false, occupancy->update.z, NULL);
    if (status == NADIR_OK) {
        status = nadir_refinement_solve(context, occupancy, true, 1, k, 0, false, occupancy->update.w, NULL);
    }
    average->b = b;
    average->norm = norm;
    occupancy->tolerance = tolerance;
    forget(occupancy);
    NADIR_CHECK(status);
    nadir_sherman_morrison update = occupancy->update;
    update.states = n;
    update.gamma = occupancy->gamma;
    update.b = b;
    update.k = k;
    NADIR_CHECK(compute_denominator(context, &update));
    occupancy->update = update;
cleanup:
    return status;
}

/*
 * Iterations notice that A is singular only by the right-hand side they are given, and may find one of many
 * solutions to a kind one. So where |gamma P| allows A to be singular a right-hand side without structure is
 * tried first. Factors, and the denominator of Sherman-Morrison, need no such trial.
 */
static nadir_status probe(nadir_context *context, nadir_occupancy *occupancy)
{
    nadir_status status = NADIR_OK;
    const int64_t n = occupancy->average.states;
    double *trial = NULL;
    nadir_random random;
    if (!nadir_occupancy_iterates(occupancy) || occupancy->average.b != NULL ||
        occupancy->gamma * occupancy->average.norm < 1) {
        return NADIR_OK;
    }
    NADIR_NEW(context, trial, n);
    nadir_random_seed(&random, 0);
    for (int64_t i = 0; i < n; i++) {
        trial[i] = nadir_random_normal(&random);
    }
    NADIR_CHECK(nadir_refinement_solve(context, occupancy, false, 1, trial, 0, false, trial, NULL));
cleanup:
    nadir_release(context, trial);
    return status;
}

static nadir_status check_backend(nadir_context *context, const nadir_average *average,
                                  const nadir_backend *backend)
{
    const bool dense = nadir_average_is_dense(average);
    const unsigned needed = dense ? NADIR_BACKEND_DENSE : NADIR_BACKEND_SPARSE;
    if (!nadir_backend_has(backend, needed)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the backend %s does not take a %s kernel; auto chooses one that does",
                          backend->name, dense ? "dense" : "sparse");
    }
    if (average->exchange != NULL && !nadir_backend_has(backend, NADIR_BACKEND_DISTRIBUTED)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the backend %s does not take a kernel that is spread over processes; krylov and "
                          "petsc do",
                          backend->name);
    }
    return NADIR_OK;
}

/* Whether factors of a kernel beside this one are cheaper than iterations through these. */
static bool is_small(const nadir_occupancy *occupancy)
{
    return is_direct(occupancy->backend) && occupancy->average.states <= FACTORED_STATES;
}

/* Whether all of P^pi has to be in the matrix: a backend of a device sees what is there alone. */
static bool needs_matrix(const nadir_backend *backend, const nadir_average *average)
{
    return is_direct(backend) || (backend != NULL && nadir_backend_has(backend, NADIR_BACKEND_DEVICE) &&
                                  average->tail.device_matrix == NULL);
}

/* Whether tails are too long to be written out: for a backend of a device that was asked for, or unasked. */
static bool are_long(const nadir_average *average, bool asked)
{
    if (asked) {
        return nadir_offsupport_tail_entries(&average->tail) > TAIL_LIMIT;
    }
    const bool on_device = average->tail.device_matrix != NULL;
    const int64_t stored = on_device ? average->facts.entries : average->matrix.starts[average->states];
    return nadir_offsupport_tail_entries(&average->tail) > TAIL_SHARE * stored ||
           (on_device && average->states > NADIR_DEVICE_ORDERED_STATES);
}

/*
 * Factors need a matrix, so tails are written out for a direct backend: when it was
 * asked for, or when that makes M a few times longer at most. Otherwise device-krylov where they are on the
 * device, and krylov where they are not, applies them as they are.
 */
static nadir_status settle_tail(nadir_context *context, nadir_occupancy *occupancy)
{
    nadir_average *average = &occupancy->average;
    occupancy->long_tail = false;
    if (average->tail.states == 0 ||
        (occupancy->backend != NULL && !needs_matrix(occupancy->backend, average))) {
        return NADIR_OK;
    }
    if ((occupancy->automatic || !is_direct(occupancy->backend)) &&
        are_long(average, !occupancy->automatic)) {
        occupancy->backend =
            average->tail.device_matrix != NULL ? &nadir_backend_device_krylov : &nadir_backend_krylov;
        occupancy->long_tail = true;
        return NADIR_OK;
    }
    return nadir_average_expand(context, average);
}

/* Chooses, checks and sets up a backend for the average. */
static nadir_status set_up(nadir_context *context, nadir_occupancy *occupancy)
{
    nadir_average *average = &occupancy->average;
    forget(occupancy);
    /* What was too large to factor under one policy is so under the next: that choice stays. */
    if (occupancy->automatic && (needs_matrix(occupancy->backend, average) || occupancy->long_tail)) {
        occupancy->backend = NULL;
    } else if (occupancy->long_tail) { /* the device had no memory for them */
        occupancy->backend = &nadir_backend_device_krylov;
    }
    NADIR_TRY(settle_tail(context, occupancy));
    if (occupancy->backend == NULL && average->exchange != NULL) {
        occupancy->backend = &nadir_backend_krylov;
    }
    if (occupancy->backend == NULL) {
        NADIR_TRY(nadir_backend_choose(context, average, &occupancy->backend));
    }
    NADIR_TRY(check_backend(context, average, occupancy->backend));
    return occupancy->backend->setup(context, average, occupancy->gamma, &occupancy->self);
}

nadir_status nadir_occupancy_own_backend(nadir_context *context, nadir_occupancy *occupancy)
{
    nadir_occupancy_statistics(occupancy, &occupancy->inherited);
    occupancy->spent = occupancy->inherited;
    occupancy->counted_by = occupancy->root;
    occupancy->automatic = occupancy->root->automatic && !is_small(occupancy->root);
    occupancy->backend = occupancy->root->backend;
    occupancy->root = occupancy;
    occupancy->preconditioned = false;
    nadir_release(context, occupancy->gmres_work);
    occupancy->gmres_work = NULL;
    occupancy->gmres_capacity = 0;
    const nadir_status status = set_up(context, occupancy);
    occupancy->ready = status == NADIR_OK;
    return status;
}

static nadir_status check_discount(nadir_context *context, double gamma)
{
    if (gamma >= 0 && gamma <= 1) {
        return NADIR_OK;
    }
    return nadir_fail(context, NADIR_ERROR_ILL_POSED, "the discount is %.10g; expected 0 <= discount <= 1",
                      gamma);
}

nadir_status nadir_occupancy_create(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, double gamma, const char *backend,
                                    double tolerance, nadir_occupancy **occupancy)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *made = NULL;
    NADIR_CHECK(check_discount(context, gamma));
    NADIR_NEW_ZERO(context, made, 1);
    made->root = made;
    made->gamma = gamma;
    nadir_occupancy_set_tolerance(made, tolerance);
    NADIR_CHECK(nadir_backend_named(context, backend, &made->backend));
    made->automatic = made->backend == NULL;
    NADIR_CHECK(nadir_average_make(context, kernel, policy, &made->average));
    NADIR_CHECK(set_up(context, made));
    made->ready = true;
    NADIR_CHECK(start_update(context, made));
    NADIR_CHECK(probe(context, made));
    *occupancy = made;
    made = NULL;
cleanup:
    nadir_occupancy_free(context, made);
    return status;
}

nadir_status nadir_occupancy_create_like(nadir_context *context, const nadir_occupancy *like,
                                         const nadir_kernel *kernel, const nadir_policy *policy,
                                         double tolerance, nadir_occupancy **occupancy)
{
    const nadir_backend *backend = like->root->backend;
    const bool direct = nadir_backend_has(backend, NADIR_BACKEND_DIRECT);
    const bool device = !direct && nadir_backend_has(backend, NADIR_BACKEND_DEVICE);
    const char *name = direct ? NULL : device ? backend->name : nadir_backend_krylov.name;
    nadir_status status =
        nadir_occupancy_create(context, kernel, policy, like->gamma, name, tolerance, occupancy);
    if (status == NADIR_ERROR_MEMORY && device) {
        status = nadir_occupancy_create(context, kernel, policy, like->gamma, nadir_backend_krylov.name,
                                        tolerance, occupancy);
    }
    return status;
}

nadir_status nadir_occupancy_update(nadir_context *context, nadir_occupancy *occupancy,
                                    const nadir_kernel *kernel, const nadir_policy *policy)
{
    nadir_status status = NADIR_OK;
    bool same = false;
    if (occupancy->root != occupancy) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "a perturbed operator cannot be updated; make another");
    }
    occupancy->ready = false;
    occupancy->updates++;
    if (occupancy->average.active != NULL) { /* a process may have no states */
        NADIR_CHECK(nadir_average_remake(context, kernel, policy, &occupancy->average, &same));
    } else { /* the update before ran out of memory */
        NADIR_CHECK(nadir_average_make(context, kernel, policy, &occupancy->average));
    }
    same = same && !occupancy->long_tail &&
           (occupancy->average.tail.states == 0 || !is_direct(occupancy->backend));
    if (same && occupancy->self != NULL && occupancy->backend->refactor != NULL) {
        forget(occupancy);
        NADIR_CHECK(occupancy->backend->refactor(context, occupancy->self));
    } else {
        release_backend(context, occupancy);
        NADIR_CHECK(set_up(context, occupancy));
    }
    occupancy->ready = true;
    NADIR_CHECK(start_update(context, occupancy));
    NADIR_CHECK(probe(context, occupancy));
cleanup:
    occupancy->ready = status == NADIR_OK;
    return status;
}

nadir_status nadir_occupancy_perturb(nadir_context *context, nadir_occupancy *base,
                                     const nadir_kernel *kernel, const nadir_policy *policy,
                                     nadir_occupancy **occupancy)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *made = NULL;
    bool borrowed;
    if (base->root != base) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the base of a perturbed operator must not be one itself");
    }
    NADIR_CHECK(nadir_occupancy_check_ready(context, base));
    NADIR_NEW_ZERO(context, made, 1);
    made->root = base;
    made->gamma = base->gamma;
    made->tolerance = base->tolerance;
    made->updates = base->updates;
    made->ready = true;
    NADIR_CHECK(nadir_average_borrow(context, &base->average, kernel, policy, &made->average, &borrowed));
    if (!borrowed) {
        NADIR_CHECK(nadir_average_make(context, kernel, policy, &made->average));
        made->preconditioned = true;
        if (is_small(base)) {
            NADIR_CHECK(nadir_occupancy_own_backend(context, made));
        }
    } else {
        NADIR_CHECK(start_update(context, made));
    }
    NADIR_CHECK(probe(context, made));
    *occupancy = made;
    made = NULL;
cleanup:
    nadir_occupancy_free(context, made);
    return status;
}

nadir_status nadir_occupancy_perturb_again(nadir_context *context, nadir_occupancy *occupancy,
                                           const nadir_kernel *kernel, const nadir_policy *policy, bool *done)
{
    nadir_status status = NADIR_OK;
    bool same;
    *done =
        occupancy->ready && (occupancy->root != occupancy ? occupancy->preconditioned : is_small(occupancy));
    if (!*done || occupancy->root == occupancy) {
        return *done ? nadir_occupancy_update(context, occupancy, kernel, policy) : NADIR_OK;
    }
    NADIR_CHECK(nadir_occupancy_check_ready(context, occupancy));
    forget(occupancy);
    NADIR_CHECK(nadir_average_remake(context, kernel, policy, &occupancy->average, &same));
    NADIR_CHECK(probe(context, occupancy));
cleanup:
    occupancy->ready = status == NADIR_OK;
    return status;
}
