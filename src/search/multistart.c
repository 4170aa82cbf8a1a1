/*
 * multistart.c: Frank-Wolfe from several starts; see frank_wolfe.h.
 *
 * Where several kernels are locally the worst, they differ in where they hold the chain: in one state, or in a set of a
 * few; or in how they keep it from states that are worth much. Further starts therefore are the worst kernel of larger
 * balls, followed down to the ball, kernels that enter the best states least, and kernels that hold the chain in each state
 * in turn; then, from the candidate, those that hold it in one state more or less, as long as that finds something. Most of
 * them lead to kernels that are known, so they race: those that visit states as the candidate or a better racer does drop out, and so do those near one of these from which the return falls towards it, and those whose gap
 * does not reach as far as the candidate; in each round the others take more steps. One that falls below the candidate is
 * searched from to the end and replaces it.
 */
#include "search/frank_wolfe.h"

#include "linalg/distributed.h"
#include "model/landing.h"
#include "proof/perturbable_rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Multipliers tried where no bound on occupancies is at hand, as shares of the one at which the rows of a
 * state with all of the occupancy would use up the ball. */
static const double prices[] = {0.3, 0.03, 0.003};

/* Whether some kernel of the set reaches a state of occupancy zero. */
static nadir_status misses_states(nadir_context *context, const nadir_problem *problem, const double *d,
                                  bool *misses)
{
    nadir_status status = NADIR_OK;
    const double nothing = DBL_EPSILON * DBL_EPSILON / problem->rest;
    bool *reach = NULL;
    bool visited = true;
    NADIR_NEW(context, reach, problem->states);
    NADIR_CHECK(nadir_reachable_states(context, problem, reach));
    for (int64_t s = 0; s < problem->states; s++) {
        visited = visited && (d[s] > nothing || !reach[s]);
    }
    *misses = !nadir_allreduce_and(context, visited);
cleanup:
    nadir_release(context, reach);
    return status;
}

/* Whether a search has found a kernel that is worse for the policy than the candidate by more than the
 * tolerance. */
static bool is_worse(const nadir_context *context, const nadir_problem *problem, double tolerance,
                     const nadir_candidate *other, const nadir_candidate *candidate)
{
    const double rounding = 64 * DBL_EPSILON * nadir_global_largest(context, problem->states, other->v);
    return other->J < candidate->J - tolerance * (problem->J - candidate->J) - rounding;
}

nadir_status nadir_multistart_again(nadir_context *context, const nadir_problem *problem, double beta,
                                    const nadir_lagrangian *lagrangian, double tolerance,
                                    int64_t iterations_limit, nadir_candidate *candidate, bool *better)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *start = NULL;
    nadir_candidate other = {0};
    NADIR_CHECK(nadir_lagrangian_kernel_in_ball(context, problem, beta, lagrangian, &start));
    NADIR_CHECK(nadir_frank_wolfe_run(context, problem, beta, start, tolerance, iterations_limit, &other));
    *better = is_worse(context, problem, tolerance, &other, candidate);
    other.iterations += candidate->iterations;
    candidate->iterations = other.iterations;
    if (*better) {
        nadir_candidate_clear(context, candidate);
        *candidate = other;
        other = (nadir_candidate){0};
    }
cleanup:
    nadir_candidate_clear(context, &other);
    nadir_kernel_free(start);
    return status;
}

/* ------------------------------------------------------------------------------------- further starts */

/* Further starts take about TIMES as many kernels as the searches before at most; or, if that is more, FEWEST on up to SMALL
 * states, and on sparse models `each` more for every state, of MANY at most; half of them before the candidate is changed.
 * Rows of dense models take long. Chosen with the other numbers here on garnets for p = 1 and p = 2: docs/benchmarks.md. */
enum {
    TIMES = 2,
    FEWEST = 100,
    MANY = 40,
    SMALL = 200,
    LARGER_STEPS = 40, /* of a search in a larger ball, at most */
    RACERS = 90,       /* kept after their first step, on up to SMALL states */
    FEW_RACERS = 24    /* on more */
};

/*
 * What depends on the norm. Kernels whose occupancies differ by less than the share `apart` are taken to be one local
 * optimum; so are those that differ by less than NEAR, if the slope from one to the other is at least `falls` times the
 * difference of their returns. A search may lower the return by `reach` times its gap, which is small near saddles, too.
 */
#define NEAR 0.2
typedef struct rules {
    int each; /* kernels for every state */
    int idle; /* so many starts in a row that bring nothing new are the end */
    double apart, falls, reach;
} rules;

static const rules usual = {40, 12, 2e-3, 0.5, 1000};
/* p = 1 has four starts for each state, and local optima that lie closer to each other. */
static const rules vertices = {80, 12, 2e-3, 1, 20};

/* The path from larger balls: from LARGEST times the radius, in so many steps of one ratio; 12 miss kernels at p = 1. */
#define LARGEST 40.0
enum { LARGER = 27 };
/* Tolerance of searches there. */
#define ROUGH 1e-4
/* Tolerance in a race, and what steps are multiplied by in each round. */
#define RACE_TOLERANCE 1e-6
#define LONGER         1.5

/* Starts that race against each other. */
typedef struct multistart {
    nadir_context *context;
    const nadir_problem *problem;
    double beta, tolerance;
    int64_t iterations_limit;
    int64_t limit; /* of kernels evaluated */
    const rules *rules;
    nadir_frank_wolfe *search; /* of all racers */
    nadir_candidate *candidate;
    bool better;
    int room;                       /* racers that are kept */
    int idle;                       /* starts since the last one that brought something new */
    int count;                      /* of racers */
    nadir_candidate racers[RACERS]; /* by rising return */
} multistart;

static bool has_ended(const multistart *self)
{
    return self->search->evaluations >= self->limit;
}

/* How far occupancies differ, as a share of all. */
static double apart(const multistart *self, const nadir_candidate *a, const nadir_candidate *b)
{
    double sum = 0;
    for (int64_t s = 0; s < self->problem->states; s++) {
        sum += fabs(a->d[s] - b->d[s]);
    }
    return sum * self->problem->rest;
}

static bool are_close(const multistart *self, const nadir_candidate *a, const nadir_candidate *b)
{
    return apart(self, a, b) <= self->rules->apart;
}

/* Whether a racer P is like a kernel P' that is worse, or near it with a return that falls on the way there; the slope is
 * <G, P - P'>. */
static bool leads_to(const multistart *self, const nadir_candidate *racer, const nadir_candidate *worse)
{
    const nadir_problem *problem = self->problem;
    const nadir_policy *policy = problem->policy;
    const double far = apart(self, racer, worse);
    double slope = 0;
    if (far <= self->rules->apart || far > NEAR) {
        return far <= self->rules->apart;
    }
    if (problem->landing != 0) {
        double *paid = self->search->work;
        double *paid_worse = paid + problem->states;
        nadir_kernel_landings(self->context, racer->kernel, policy, problem->sign, paid);
        nadir_kernel_landings(self->context, worse->kernel, policy, problem->sign, paid_worse);
        for (int64_t s = 0; s < problem->states; s++) {
            slope += fmax(racer->d[s], 0) * (paid[s] - paid_worse[s]);
        }
    }
    slope += problem->gamma * nadir_kernel_difference_product(self->context, worse->kernel, racer->kernel,
                                                              racer->d, policy->probabilities, racer->v);
    return slope >= self->rules->falls * (racer->J - worse->J);
}

/* Searches on to the end from a racer that is worse than the candidate, and makes it the candidate. Steps of a race
 * may be inexact: its return is computed anew first. */
static nadir_status finish(multistart *self, nadir_candidate *racer)
{
    nadir_status status = NADIR_OK;
    const bool rough = self->search->rough;
    nadir_frank_wolfe_point exact = {racer->kernel, racer->v, racer->d, racer->J};
    self->search->rough = false;
    self->search->vertices = false;
    NADIR_CHECK(rough ? nadir_frank_wolfe_evaluate(self->context, self->search, NULL, &exact) : NADIR_OK);
    racer->J = exact.J;
    if (is_worse(self->context, self->problem, self->tolerance, racer, self->candidate)) {
        racer->iterations = self->candidate->iterations;
        NADIR_CHECK(nadir_frank_wolfe_continue(self->context, self->search, self->beta, self->tolerance,
                                               self->candidate->iterations + self->iterations_limit, racer));
        nadir_candidate_clear(self->context, self->candidate);
        *self->candidate = *racer;
        *racer = (nadir_candidate){0};
        self->better = true;
        self->idle = 0;
    }
cleanup:
    self->search->rough = rough;
    self->search->vertices = true;
    return status;
}

/* Puts a racer in its place, for one that is like it and behind it, or for the last one if there is no room. */
static void insert(multistart *self, nadir_candidate *racer)
{
    nadir_candidate *racers = self->racers;
    int place = 0;
    while (place < self->count && racers[place].J <= racer->J) {
        if (leads_to(self, racer, &racers[place++])) {
            return;
        }
    }
    int leaves = place;
    while (leaves < self->count && !are_close(self, &racers[leaves], racer)) {
        leaves++;
    }
    if (leaves == self->room) {
        leaves--;
    }
    if (place > leaves) {
        return;
    }
    self->count += leaves == self->count;
    nadir_candidate_clear(self->context, &racers[leaves]);
    memmove(racers + place + 1, racers + place, (size_t)(leaves - place) * sizeof *racers);
    racers[place] = *racer;
    *racer = (nadir_candidate){0};
    self->idle = 0;
}

/* Takes a racer in, unless it is like the candidate or another one that is ahead. It is cleared. */
static nadir_status take_in(multistart *self, nadir_candidate *racer)
{
    nadir_status status = NADIR_OK;
    if (is_worse(self->context, self->problem, self->tolerance, racer, self->candidate)) {
        NADIR_CHECK(finish(self, racer));
    } else if (!leads_to(self, racer, self->candidate)) {
        insert(self, racer);
    }
cleanup:
    nadir_candidate_clear(self->context, racer);
    return status;
}

/* No more starts. */
static bool is_over(const multistart *self)
{
    return has_ended(self) || self->idle > self->rules->idle;
}

/* A start: the solution of the linear problem at v and d, [states] each. */
static nadir_status enter(multistart *self, const double *v, const double *d)
{
    nadir_candidate racer = {0};
    if (is_over(self)) {
        return NADIR_OK;
    }
    self->idle++;
    NADIR_TRY(
        nadir_frank_wolfe_from(self->context, self->search, self->beta, v, d, RACE_TOLERANCE, 1, &racer));
    return take_in(self, &racer);
}

/* The worst kernel of a larger ball, followed down to the ball, at p = 1 also between vertices: else the path is lost. */
static nadir_status enter_larger(multistart *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    const int64_t each = self->limit / (2 * LARGER) + 1;
    const int64_t steps = each < LARGER_STEPS ? each : LARGER_STEPS;
    const double ratio = pow(LARGEST, -1.0 / LARGER);
    double radius = LARGEST * self->beta;
    nadir_candidate larger = {0};
    NADIR_CHECK(
        nadir_frank_wolfe_from(context, self->search, radius, problem->v, problem->d, ROUGH, steps, &larger));
    for (int i = 1; i <= LARGER; i++) {
        const nadir_lagrangian before = {.kernel = larger.kernel, .distance = radius};
        nadir_frank_wolfe_point point = {.v = larger.v, .d = larger.d};
        radius = i < LARGER ? radius * ratio : self->beta;
        NADIR_CHECK(nadir_lagrangian_kernel_in_ball(context, problem, radius, &before, &point.kernel));
        nadir_kernel_free(larger.kernel);
        larger.kernel = point.kernel;
        NADIR_CHECK(nadir_frank_wolfe_evaluate(context, self->search, NULL, &point));
        larger.J = point.J;
        larger.iterations = 0;
        NADIR_CHECK(nadir_frank_wolfe_continue(context, self->search, radius, ROUGH, steps, &larger));
    }
    NADIR_CHECK(take_in(self, &larger));
cleanup:
    nadir_candidate_clear(context, &larger);
    return status;
}

/* A state with its value. */
typedef struct ranked {
    double value;
    int64_t state;
} ranked;

static int by_value(const void *left, const void *right)
{
    const ranked *a = left;
    const ranked *b = right;
    return a->value != b->value ? (a->value > b->value) - (a->value < b->value)
                                : (a->state > b->state) - (a->state < b->state);
}

/* The states, those of low values first. v, order: [states]. */
static void rank_states(int64_t states, const double *v, ranked *order)
{
    for (int64_t s = 0; s < states; s++) {
        order[s] = (ranked){v[s], s};
    }
    qsort(order, (size_t)states, sizeof *order, by_value);
}

/*
 * Cuts: the linear steps at v of two levels, high in the states of the highest values and low in all others, and d of the
 * nominal kernel, 0 in those states: the kernel that enters them least, for every number of them. Values make rows lead to
 * the lowest one, which takes more of the ball than to lead elsewhere.
 */
static nadir_status enter_cuts(multistart *self)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    const int64_t states = problem->states;
    ranked *order = NULL;
    double *v = NULL;
    NADIR_NEW(self->context, order, states);
    NADIR_NEW(self->context, v, 2 * states);
    double *d = v + states;
    rank_states(states, problem->v, order);
    for (int64_t s = 0; s < states; s++) {
        v[s] = order[0].value;
        d[s] = problem->d[s];
    }
    self->idle = 0;
    for (int64_t i = states - 1; i > 0 && !is_over(self); i--) {
        v[order[i].state] = order[states - 1].value;
        d[order[i].state] = 0;
        NADIR_CHECK(enter(self, v, d));
    }
cleanup:
    nadir_release(self->context, order);
    nadir_release(self->context, v);
    return status;
}

/* Work space for the starts of one state. */
typedef struct state_starts {
    nadir_kernel_solver solver; /* of the candidate when these starts began */
    double *unit, *opposite;    /* [states] e_t, 1 - e_t */
    double *v, *d;              /* [states] of a start */
    double *v_begun;            /* [states] v of that candidate */
} state_starts;

/*
 * The starts of one state t:
 *   - v = -D e_t, d = D^T e_t: a step towards the largest e_t . D e_t, the kernel that returns to t most;
 *   - p = 1, whose steps go to vertices: v = 1 - e_t with d = e_t, the rows of t lead to t, and with d of the candidate,
 *     all rows do;
 *   - p = 1: v of the candidate, d = D^T e_t under it: other rows share the ball.
 */
static nadir_status enter_state(multistart *self, state_starts *work)
{
    nadir_context *context = self->context;
    const nadir_problem *problem = self->problem;
    NADIR_TRY(nadir_occupancy_solve(context, problem->occupancy, 1, work->unit, work->v, NULL));
    NADIR_TRY(nadir_occupancy_solve_transposed(context, problem->occupancy, 1, work->unit, work->d, NULL));
    for (int64_t s = 0; s < problem->states; s++) {
        work->v[s] = -work->v[s];
    }
    NADIR_TRY(enter(self, work->v, work->d));
    if (problem->uncertainty->p != 1) {
        return NADIR_OK;
    }
    NADIR_TRY(enter(self, work->opposite, work->unit));
    NADIR_TRY(enter(self, work->opposite, self->candidate->d));
    NADIR_TRY(
        nadir_occupancy_solve_transposed(context, work->solver.occupancy, 1, work->unit, work->d, NULL));
    return enter(self, work->v_begun, work->d);
}

static nadir_status enter_states(multistart *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    const int64_t states = self->problem->states;
    ranked *order = NULL;
    double *memory = NULL;
    state_starts work = {.solver = {.problem = self->problem}};
    NADIR_NEW(context, order, states);
    NADIR_NEW_ZERO(context, memory, 5 * states);
    work.unit = memory;
    work.opposite = memory + states;
    work.v = memory + 2 * states;
    work.d = memory + 3 * states;
    work.v_begun = memory + 4 * states;
    NADIR_CHECK(nadir_kernel_solver_set(context, &work.solver, self->candidate->kernel));
    memcpy(work.v_begun, self->candidate->v, (size_t)states * sizeof *memory);
    rank_states(states, self->problem->v, order);
    for (int64_t s = 0; s < states; s++) {
        work.opposite[s] = 1;
    }
    self->idle = 0;
    for (int64_t i = 0; i < states && !is_over(self); i++) {
        const int64_t t = order[i].state;
        work.unit[t] = 1;
        work.opposite[t] = 0;
        NADIR_CHECK(enter_state(self, &work));
        work.unit[t] = 0;
        work.opposite[t] = 1;
    }
cleanup:
    nadir_kernel_solver_clear(context, &work.solver);
    nadir_release(context, order);
    nadir_release(context, memory);
    return status;
}

/*
 * From the candidate, changed in one state t: the linear step at its v and d, but
 *   - v(t) the lowest of all, d(t) the largest: the kernel holds the chain in t, too;
 *   - v(t) the highest, d(t) = 0: it does not hold it there.
 */
static nadir_status enter_changes(multistart *self)
{
    nadir_status status = NADIR_OK;
    const int64_t states = self->problem->states;
    ranked *order = NULL;
    double *v = NULL;
    NADIR_NEW(self->context, order, states);
    NADIR_NEW(self->context, v, 2 * states);
    double *d = v + states;
    memcpy(v, self->candidate->v, (size_t)states * sizeof *v);
    memcpy(d, self->candidate->d, (size_t)states * sizeof *d);
    rank_states(states, v, order);
    double most = 0;
    for (int64_t s = 0; s < states; s++) {
        most = fmax(most, d[s]);
    }
    self->idle = 0;
    for (int64_t i = 0; i < states && !is_over(self); i++) {
        const int64_t t = order[i].state;
        const double d_t = d[t];
        v[t] = order[0].value;
        d[t] = most;
        NADIR_CHECK(enter(self, v, d));
        v[t] = order[states - 1].value;
        d[t] = 0;
        NADIR_CHECK(enter(self, v, d));
        v[t] = order[i].value;
        d[t] = d_t;
    }
cleanup:
    nadir_release(self->context, order);
    nadir_release(self->context, v);
    return status;
}

/* Whether a racer will not pass the candidate. */
static bool gives_up(const multistart *self, const nadir_candidate *racer)
{
    return !is_worse(self->context, self->problem, self->tolerance, racer, self->candidate) &&
           (racer->stop != NADIR_STOP_ITERATIONS ||
            racer->J - self->rules->reach * racer->gap > self->candidate->J);
}

/* One round: all racers go on for so many steps. */
static nadir_status run_round(multistart *self, int64_t steps)
{
    nadir_status status = NADIR_OK;
    nadir_candidate racers[RACERS];
    const int before = self->count;
    memcpy(racers, self->racers, sizeof racers);
    memset(self->racers, 0, sizeof racers);
    self->count = 0;
    for (int i = 0; i < before && !has_ended(self); i++) {
        NADIR_CHECK(nadir_frank_wolfe_continue(self->context, self->search, self->beta, RACE_TOLERANCE,
                                               racers[i].iterations + steps, &racers[i]));
        NADIR_CHECK(gives_up(self, &racers[i]) ? NADIR_OK : take_in(self, &racers[i]));
    }
cleanup:
    for (int i = 0; i < before; i++) {
        nadir_candidate_clear(self->context, &racers[i]);
    }
    return status;
}

/* All rounds. */
static nadir_status race(multistart *self)
{
    nadir_status status = NADIR_OK;
    int64_t steps = 1;
    while (self->count > 0 && !has_ended(self)) {
        NADIR_CHECK(run_round(self, steps));
        steps = (int64_t)ceil(LONGER * (double)steps);
    }
    while (self->count > 0) {
        nadir_candidate_clear(self->context, &self->racers[--self->count]);
    }
cleanup:
    return status;
}

nadir_status nadir_multistart_further(nadir_context *context, const nadir_problem *problem, double beta,
                                      double tolerance, int64_t iterations_limit, nadir_candidate *candidate,
                                      bool *better)
{
    nadir_status status = NADIR_OK;
    const bool small = problem->states <= SMALL;
    const int64_t times = problem->states < MANY ? problem->states : MANY;
    const rules *chosen = problem->uncertainty->p == 1 ? &vertices : &usual;
    const int64_t fewest = !small                          ? 0
                           : problem->model->dense == NULL ? FEWEST + chosen->each * times
                                                           : FEWEST;
    const bool changes = problem->gamma < 1; /* else traps have no return */
    const int64_t limit = fewest > TIMES * candidate->iterations ? fewest : TIMES * candidate->iterations;
    multistart self = {.context = context,
                       .problem = problem,
                       .beta = beta,
                       .tolerance = tolerance,
                       .iterations_limit = iterations_limit,
                       .limit = limit / 2,
                       .rules = chosen,
                       .candidate = candidate,
                       .room = small ? RACERS : FEW_RACERS};
    NADIR_CHECK(nadir_frank_wolfe_create(context, problem, &self.search));
    self.search->rough = problem->model->dense != NULL;
    NADIR_CHECK(enter_larger(&self));
    self.search->vertices = true;
    NADIR_CHECK(enter_cuts(&self));
    NADIR_CHECK(changes ? enter_states(&self) : NADIR_OK);
    NADIR_CHECK(race(&self));
    self.limit = limit;
    for (double before = INFINITY; changes && candidate->J < before && !has_ended(&self);) {
        before = candidate->J;
        NADIR_CHECK(enter_changes(&self));
        NADIR_CHECK(race(&self));
    }
cleanup:
    for (int i = 0; i < self.count; i++) {
        nadir_candidate_clear(context, &self.racers[i]);
    }
    nadir_frank_wolfe_free(context, self.search);
    *better = self.better;
    return status;
}

/* The multiplier at which moving a row by beta gains what it costs, in a state with all of the occupancy. */
static double price_scale(const nadir_problem *problem, double beta)
{
    const double p = problem->uncertainty->p;
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t s = 0; s < problem->states; s++) {
        low = fmin(low, problem->v[s]);
        high = fmax(high, problem->v[s]);
    }
    const nadir_landing *landing = &problem->model->landing;
    const double paid = problem->landing != 0 ? landing->e_high - landing->e_low : 0;
    return (problem->gamma * (high - low) + paid) / problem->rest / (p * pow(beta, p - 1));
}

nadir_status nadir_multistart_missed(nadir_context *context, const nadir_problem *problem, double beta,
                                     double tolerance, int64_t iterations_limit, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    double *d_bar = NULL;
    bool misses;
    bool better;
    NADIR_CHECK(misses_states(context, problem, candidate->d, &misses));
    if (!misses) {
        goto cleanup;
    }
    NADIR_CHECK(nadir_model_check_one_process(
        context, problem->model, "models with states that the ball can reach and the worst kernel does not"));
    NADIR_NEW(context, d_bar, problem->states);
    for (int64_t s = 0; s < problem->states; s++) {
        d_bar[s] = 1 / problem->rest;
    }
    const double scale = price_scale(problem, beta);
    for (size_t i = 0; i < sizeof prices / sizeof *prices && scale > 0 && isfinite(scale); i++) {
        nadir_lagrangian lagrangian = {0};
        status = nadir_lagrangian_solve(context, problem, beta, d_bar, prices[i] * scale, &lagrangian);
        if (status == NADIR_OK) {
            status = nadir_multistart_again(context, problem, beta, &lagrangian, tolerance, iterations_limit,
                                            candidate, &better);
        }
        nadir_lagrangian_clear(context, &lagrangian);
        NADIR_CHECK(status);
    }
cleanup:
    nadir_release(context, d_bar);
    return status;
}
