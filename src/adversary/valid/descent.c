/*
 * descent.c: conditional gradient over the kernels of a non-rectangular ball; see descent.h.
 *
 * At a kernel P with value v and occupancy d the return falls, to first order, by <G, P - X> for a step to X,
 *
 *     G_sa = gamma d(s) pi(a|s) v,
 *
 * and the X of the set where that is largest has a cheap exact solution (rows.h). Its promise is the
 * stationarity gap: zero exactly where no direction leads downhill. Steps are full ones, P <- X, unless the
 * return does not fall by a small share of the promise; then P goes to the lowest point of the way to X.
 */
#include "adversary/search/frank_wolfe_internal.h"

#include "adversary/search/kernel_mix.h"
#include "kernel/kernel_device.h"
#include "linalg/distributed.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The share of its promise that a step must keep. */
#define ARMIJO 1e-4
/* Dense systems of searches that end with such a gap are not solved to the end. */
#define ROUGH 1e-6
/* Steps shorter than this are not tried. */
#define SHORTEST 1e-9
#define MOST     0.99 /* share of A in a kernel that a line leads through: rounding grows by 1 / (1 - share) */
/* A slope this small, as a share of the first, is none. */
#define FLAT 1e-4
enum {
    SECANTS = 20,
    IDLE = 16,    /* steps that lower neither the return nor the gap: the end */
    STRETCH = 500 /* steps that are worth looking back at: most searches take ten */
};
/* Of a gap that shrinks by less in a stretch not much is to be hoped. */
#define SHRUNK 0.9

nadir_status nadir_frank_wolfe_point_make(nadir_context *context, int64_t states,
                                          nadir_frank_wolfe_point *made)
{
    nadir_status status = NADIR_OK;
    double *d = NULL;
    NADIR_NEW(context, d, states);
    NADIR_NEW(context, made->v, states);
    made->d = d;
    d = NULL;
cleanup:
    nadir_release(context, d);
    return status;
}

void nadir_frank_wolfe_point_clear(nadir_context *context, nadir_frank_wolfe_point *made)
{
    nadir_kernel_free(made->kernel);
    nadir_release(context, made->v);
    nadir_release(context, made->d);
    *made = (nadir_frank_wolfe_point){0};
}

nadir_status nadir_frank_wolfe_begin(nadir_context *context, const nadir_problem *problem, double beta,
                                     nadir_frank_wolfe *find)
{
    nadir_status status = NADIR_OK;
    const nadir_uncertainty *set = problem->uncertainty;
    find->problem = problem;
    find->beta = beta;
    find->order.exchange = problem->model->exchange;
    find->order.unsorted =
        problem->model->exchange != NULL ||
        (set->domain == NADIR_DOMAIN_SUPPORT && (set->p == 2 || problem->model->dense == NULL));
    find->operator=(nadir_kernel_solver){.problem = problem};
    find->rows = (nadir_lmo){
        .model = problem->model,
        .order = &find->order,
        .scales = set->scales,
        .domain = set->domain,
        .p = set->p,
        .q = set->q,
    };
    NADIR_CHECK(nadir_frank_wolfe_point_make(context, problem->states, &find->here));
    NADIR_CHECK(nadir_frank_wolfe_point_make(context, problem->states, &find->there));
    NADIR_CHECK(nadir_lmo_device_open(context, &find->rows, NADIR_DEVICE_ALL_ROWS, problem->gamma,
                                      problem->policy->probabilities, &find->remote));
    /* who sorts there need not do so here: nadir_frank_wolfe_answer */
    find->order.unsorted = find->order.unsorted || (find->remote.step != NULL && find->remote.off_support);
    NADIR_NEW(context, find->work, 2 * problem->states);
    if (problem->near != NULL) {
        find->budget.step = problem->near->budget.step;
    }
cleanup:
    return status;
}

void nadir_frank_wolfe_finish(nadir_context *context, nadir_frank_wolfe *find)
{
    nadir_lmo_device_close(&find->remote);
    nadir_kernel_solver_clear(context, &find->operator);
    nadir_frank_wolfe_point_clear(context, &find->here);
    nadir_frank_wolfe_point_clear(context, &find->there);
    nadir_value_order_clear(context, &find->order);
    nadir_kernel_free(find->before);
    nadir_release(context, find->answers);
    nadir_release(context, find->weights);
    nadir_release(context, find->work);
}

nadir_status nadir_frank_wolfe_evaluate(nadir_context *context, nadir_frank_wolfe *find,
                                        const nadir_frank_wolfe_point *near, nadir_frank_wolfe_point *at)
{
    nadir_status status = NADIR_OK;
    double error;
    NADIR_CHECK(nadir_kernel_solver_set(context, &find->operator, at->kernel));
    if (near != NULL) {
        memcpy(at->v, near->v, (size_t)find->problem->states * sizeof *at->v);
        memcpy(at->d, near->d, (size_t)find->problem->states * sizeof *at->d);
        if (find->rough) {
            return nadir_kernel_solver_approach(context, &find->operator, at->v, at->d, &at->J);
        }
        NADIR_CHECK(nadir_kernel_solver_improve(context, &find->operator, at->v, at->d));
    } else {
        NADIR_CHECK(nadir_kernel_solver_value(context, &find->operator, at->v, at->d));
    }
    at->J = nadir_global_dot(context, find->problem->states, find->problem->mu, at->v, &error);
cleanup:
    return status;
}

/* The linear step, and the gap. */
static nadir_status look_down(nadir_context *context, nadir_frank_wolfe *find)
{
    const nadir_status status = nadir_frank_wolfe_answer(context, find);
    return status == NADIR_OK ? nadir_frank_wolfe_measure(context, find, find->here.kernel) : status;
}

void nadir_frank_wolfe_point_swap(nadir_frank_wolfe_point *a, nadir_frank_wolfe_point *b)
{
    const nadir_frank_wolfe_point kept = *a;
    *a = *b;
    *b = kept;
}

/* d/dt of the return at a point of the way from here to `full`. */
static double slope(nadir_context *context, const nadir_frank_wolfe *find, const nadir_frank_wolfe_point *at,
                    const nadir_kernel *full)
{
    const nadir_problem *problem = find->problem;
    return problem->gamma * nadir_kernel_difference_product(context, find->here.kernel, full, at->d,
                                                            problem->policy->probabilities, at->v);
}

/* There <- here + t (full - here). */
static nadir_status go_part_of_the_way(nadir_context *context, nadir_frank_wolfe *find,
                                       const nadir_kernel *full, double t)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_free(find->there.kernel);
    find->there.kernel = NULL;
    NADIR_CHECK(
        nadir_kernel_mix(context, find->problem->model, find->here.kernel, full, t, &find->there.kernel));
    NADIR_CHECK(nadir_frank_wolfe_evaluate(context, find, &find->here, &find->there));
cleanup:
    return status;
}

/*
 * The lowest point of the way to `full`, where `there` is now: a zero of the slope, by secants that keep it
 * between two points of different sign (Illinois). fall: how steep the way begins.
 */
static nadir_status find_lowest(nadir_context *context, nadir_frank_wolfe *find, const nadir_kernel *full,
                                double fall, double *t)
{
    nadir_status status = NADIR_OK;
    double low = 0;
    double high = 1;
    double slope_low = -fall;
    double slope_high = slope(context, find, &find->there, full);
    *t = 1;
    for (int i = 0; i < SECANTS && slope_high > 0; i++) {
        *t = fmin(fmax(low - slope_low * (high - low) / (slope_high - slope_low), low + 0.01 * (high - low)),
                  high - 0.01 * (high - low));
        NADIR_CHECK(go_part_of_the_way(context, find, full, *t));
        const double here = slope(context, find, &find->there, full);
        if (fabs(here) <= FLAT * fall) {
            break;
        }
        if (here < 0) {
            low = *t;
            slope_low = here;
            slope_high *= i > 0 ? 0.5 : 1;
        } else {
            high = *t;
            slope_high = here;
            slope_low *= i > 0 ? 0.5 : 1;
        }
    }
cleanup:
    return status;
}

/*
 * After two steps part of the way, from A to B to here: the lowest point of the line from A through here.
 * Steps between the same few kernels make it to and fro for ever; A's share in here, (1 - t)(1 - t'), can be
 * taken out altogether without leaving the set (parallel tangents). t: of the last step; `there` is B.
 */
static nadir_status go_on(nadir_context *context, nadir_frank_wolfe *find, double t)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *far = NULL;
    if (find->before == NULL) {
        find->before = find->there.kernel;
        find->there.kernel = NULL;
        find->share = 1 - t;
        return NADIR_OK;
    }
    const double share = find->share * (1 - t);
    if (share > MOST) { /* hardly moved: a line through points so near leaves the set by rounding */
        nadir_kernel_free(find->before);
        find->before = NULL;
        return NADIR_OK;
    }
    NADIR_CHECK(nadir_kernel_mix(context, find->problem->model, find->here.kernel, find->before,
                                 -share / (1 - share), &far));
    nadir_kernel_free(find->before);
    find->before = NULL;
    const double fall = -slope(context, find, &find->here, far);
    if (fall > 0) {
        double ignored;
        NADIR_CHECK(go_part_of_the_way(context, find, far, 1));
        NADIR_CHECK(find_lowest(context, find, far, fall, &ignored));
        if (find->there.J < find->here.J) {
            nadir_frank_wolfe_point_swap(&find->here, &find->there);
        }
    }
cleanup:
    nadir_kernel_free(far);
    return status;
}

static bool is_lower(const nadir_frank_wolfe *find, double t)
{
    return find->there.J < find->here.J && find->there.J <= find->here.J - ARMIJO * t * find->gap;
}

/* What returns are not told apart by. */
static double noise(const nadir_context *context, const nadir_frank_wolfe *find)
{
    return 4 * DBL_EPSILON * nadir_global_largest(context, find->problem->states, find->here.v);
}

/* P <- X, or part of the way. *moved: false when no step helps. A full step may promise less than rounding
 * shows: near the end they contract all the same. A part of the way has to show. */
static nadir_status step(nadir_context *context, nadir_frank_wolfe *find, bool *moved)
{
    nadir_status status = NADIR_OK;
    nadir_frank_wolfe_point *there = &find->there;
    nadir_kernel *full = NULL;
    double t = 1;
    NADIR_CHECK(nadir_frank_wolfe_write(context, find, &there->kernel));
    NADIR_CHECK(nadir_frank_wolfe_evaluate(context, find, &find->here, there));
    *moved = there->J <= find->here.J - ARMIJO * find->gap + noise(context, find);
    if (!*moved) {
        NADIR_CHECK(nadir_kernel_device_fetch(context, find->here.kernel));
        NADIR_CHECK(nadir_kernel_device_fetch(context, there->kernel));
        full = there->kernel;
        there->kernel = NULL;
        NADIR_CHECK(find_lowest(context, find, full, find->gap, &t));
        *moved = is_lower(find, t);
    }
    while (!*moved && t > SHORTEST) {
        t /= 2;
        NADIR_CHECK(go_part_of_the_way(context, find, full, t));
        *moved = is_lower(find, t);
    }
    if (*moved) {
        nadir_frank_wolfe_point_swap(&find->here, &find->there);
    }
    if (*moved && t < 1) {
        NADIR_CHECK(go_on(context, find, t));
    } else {
        nadir_kernel_free(find->before);
        find->before = NULL;
    }
cleanup:
    nadir_kernel_free(full);
    return status;
}

/* Whether nothing is left to gain, and why. */
static const char *reason_to_stop(const nadir_context *context, const nadir_frank_wolfe *find,
                                  double tolerance)
{
    const nadir_problem *problem = find->problem;
    const double penalty = problem->J - find->here.J;
    if (find->gap <= tolerance * penalty) {
        return "tolerance";
    }
    const double largest = nadir_global_largest(context, problem->states, find->here.v);
    return find->gap <= 16 * DBL_EPSILON * (largest + fabs(penalty) / (1 - problem->gamma)) ? "stable" : NULL;
}

/* Where a stretch of steps began. */
typedef struct stretch {
    int64_t iterations;
    double J, gap;
} stretch;

/*
 * Whether a whole stretch of steps lowered the return by less than the tolerance, and hardly the gap, the
 * least of which is `least`: small steps to and fro between corners of the set, which go on like that.
 */
static bool drags(const nadir_frank_wolfe *find, int64_t iterations, double least, double tolerance,
                  stretch *begun)
{
    const double J = find->here.J;
    if (iterations < begun->iterations + STRETCH) {
        return false;
    }
    const bool little = begun->J - J <= tolerance * (find->problem->J - J) && least > SHRUNK * begun->gap;
    *begun = (stretch){iterations, J, least};
    return little;
}

static void hand_over(nadir_frank_wolfe *find, nadir_attack *attack)
{
    attack->kernel = find->here.kernel;
    attack->v = find->here.v;
    attack->d = find->here.d;
    attack->J = find->here.J;
    attack->tau = find->budget.tau;
    attack->gap = find->gap;
    find->here.kernel = NULL;
    find->here.v = NULL;
    find->here.d = NULL;
}

/* Downhill from here, whose kernel, v, d and J are known. */
static nadir_status descend(nadir_context *context, nadir_frank_wolfe *find, double tolerance,
                            int64_t iterations_limit, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    const char *reason = NULL;
    bool moved = true;
    bool slow = false;
    int idle = 0;
    NADIR_CHECK(look_down(context, find));
    double least = find->gap;
    stretch begun = {attack->iterations, find->here.J, least};
    while ((reason = reason_to_stop(context, find, tolerance)) == NULL && moved && !slow &&
           attack->iterations < iterations_limit) {
        const double before = find->here.J;
        NADIR_CHECK(nadir_progress(context, "worst kernel", -1));
        NADIR_CHECK(step(context, find, &moved));
        attack->iterations++;
        if (moved) {
            NADIR_CHECK(look_down(context, find));
            idle = find->here.J < before - noise(context, find) || find->gap < least ? 0 : idle + 1;
            least = fmin(least, find->gap);
            moved = idle < IDLE;
            slow = drags(find, attack->iterations, least, tolerance, &begun);
        }
    }
    attack->converged = reason != NULL || !moved;
    attack->stop_reason = reason != NULL ? reason : !moved ? "stable" : slow ? "slow" : "iterations";
    attack->method = "conditional-gradient";
    NADIR_CHECK(nadir_kernel_device_fetch(context, find->here.kernel));
    hand_over(find, attack);
cleanup:
    return status;
}

nadir_status nadir_frank_wolfe_run(nadir_context *context, const nadir_problem *problem, double beta,
                                   const nadir_kernel *start, double tolerance, int64_t iterations_limit,
                                   nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    nadir_frank_wolfe find = {0};
    NADIR_CHECK(nadir_frank_wolfe_begin(context, problem, beta, &find));
    find.rough = tolerance >= ROUGH && problem->model->dense != NULL;
    if (start != NULL) {
        NADIR_CHECK(nadir_kernel_mix(context, problem->model, start, start, 0, &find.here.kernel));
        NADIR_CHECK(nadir_frank_wolfe_evaluate(context, &find, NULL, &find.here));
    } else {
        NADIR_CHECK(nadir_kernel_create(context, problem->model, &find.here.kernel));
        memcpy(find.here.v, problem->v, (size_t)problem->states * sizeof *find.here.v);
        memcpy(find.here.d, problem->d, (size_t)problem->states * sizeof *find.here.d);
        find.here.J = problem->J;
    }
    NADIR_CHECK(descend(context, &find, tolerance, iterations_limit, attack));
cleanup:
    nadir_frank_wolfe_finish(context, &find);
    if (status != NADIR_OK) {
        nadir_attack_clear(context, attack);
    }
    return status;
}

nadir_status nadir_frank_wolfe_create(nadir_context *context, const nadir_problem *problem,
                                      nadir_frank_wolfe **descent)
{
    nadir_status status = NADIR_OK;
    nadir_frank_wolfe *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    NADIR_CHECK(nadir_frank_wolfe_begin(context, problem, 0, made));
    *descent = made;
    made = NULL;
cleanup:
    nadir_frank_wolfe_free(context, made);
    return status;
}

void nadir_frank_wolfe_free(nadir_context *context, nadir_frank_wolfe *descent)
{
    if (descent != NULL) {
        nadir_frank_wolfe_finish(context, descent);
        nadir_release(context, descent);
    }
}

void nadir_frank_wolfe_exchange_kernels(nadir_frank_wolfe *descent, nadir_kernel **spare)
{
    nadir_kernel **own[] = {&descent->here.kernel, &descent->there.kernel};
    for (int i = 0; i < 2; i++) {
        nadir_kernel *kept = *own[i];
        *own[i] = spare[i];
        spare[i] = kept;
    }
}

/* p = 2: steps are about proportional to the radius, which is where the answer will start from. */
static void scale_steps(nadir_frank_wolfe *descent, double beta)
{
    if (!(descent->beta > 0) || descent->rows.p != 2) {
        return;
    }
    descent->budget.step *= beta / descent->beta;
    if (descent->answers != NULL) {
        for (int64_t row = 0; row < descent->problem->rows; row++) {
            descent->answers[row].step *= beta / descent->beta;
        }
    }
}

nadir_status nadir_frank_wolfe_from(nadir_context *context, nadir_frank_wolfe *descent, double beta,
                                    const double *v, const double *d, double tolerance,
                                    int64_t iterations_limit, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    const int64_t states = descent->problem->states;
    scale_steps(descent, beta);
    descent->beta = beta;
    nadir_kernel_free(descent->before);
    descent->before = NULL;
    if (descent->here.v == NULL) { /* handed over */
        NADIR_CHECK(nadir_frank_wolfe_point_make(context, states, &descent->here));
    }
    memcpy(descent->here.v, v, (size_t)states * sizeof *v);
    memcpy(descent->here.d, d, (size_t)states * sizeof *d);
    NADIR_CHECK(nadir_frank_wolfe_answer(context, descent));
    NADIR_CHECK(nadir_frank_wolfe_write(context, descent, &descent->there.kernel));
    NADIR_CHECK(nadir_frank_wolfe_evaluate(context, descent, &descent->here, &descent->there));
    nadir_frank_wolfe_point_swap(&descent->here, &descent->there);
    attack->iterations = 1;
    NADIR_CHECK(descend(context, descent, tolerance, iterations_limit, attack));
cleanup:
    if (status != NADIR_OK) {
        nadir_attack_clear(context, attack);
    }
    return status;
}
