/*
 * bench_starts.c: what further starts of a search find and cost where no proof succeeds.
 *
 *     bench_starts [FIRST [P]]
 *     bench_starts small
 *
 * FIRST: the seed of the first garnet (default 740000; search/multistart.c was tuned on garnets below 500000).
 * P: this norm alone. small: FrozenLake 4x4 and the models that `nadir generate` makes by default, both domains, radii 0.2
 * to 0.6.
 * One thread. Garnets: 128 for p = 2 and 120 for p = 1 of 20, 30 and 40 states, 3 actions, 5 successors, each with its
 * optimal and its uniform policy, domains and radii in turn. "Missed": 40 searches from random kernels, or a path down from 40
 * times the radius in 27 steps, end at a kernel that is worse than that of the evaluation by more than 1e-6 of the
 * penalty. Kernels: values and occupancies that searches solve for, those of proofs and polishing included; "without":
 * an evaluation without further starts. Time: of the processor, proofs included.
 */
#include "core/random.h"
#include "measure.h"
#include "proof/certificate.h"
#include "search/frank_wolfe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STARTS = 40, LEVELS = 27, RADII = 26 };

/* Counted by the linker's --wrap. */
nadir_status __real_nadir_kernel_solver_set(nadir_context *context, nadir_kernel_solver *solver,
                                            const nadir_kernel *kernel);
nadir_status __wrap_nadir_kernel_solver_set(nadir_context *context, nadir_kernel_solver *solver,
                                            const nadir_kernel *kernel);
static int64_t kernels;

nadir_status __wrap_nadir_kernel_solver_set(nadir_context *context, nadir_kernel_solver *solver,
                                            const nadir_kernel *kernel)
{
    kernels++;
    return __real_nadir_kernel_solver_set(context, solver, kernel);
}

/* Left out on request. */
nadir_status __real_nadir_multistart_further(nadir_context *context, const nadir_problem *problem,
                                             double beta, double tolerance, int64_t iterations_limit,
                                             nadir_candidate *candidate, bool *better);
nadir_status __wrap_nadir_multistart_further(nadir_context *context, const nadir_problem *problem,
                                             double beta, double tolerance, int64_t iterations_limit,
                                             nadir_candidate *candidate, bool *better);
static bool without;

nadir_status __wrap_nadir_multistart_further(nadir_context *context, const nadir_problem *problem,
                                             double beta, double tolerance, int64_t iterations_limit,
                                             nadir_candidate *candidate, bool *better)
{
    *better = false;
    return without ? NADIR_OK
                   : __real_nadir_multistart_further(context, problem, beta, tolerance, iterations_limit,
                                                     candidate, better);
}

typedef struct question {
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
    double radius;
    nadir_ball ball;
    nadir_setup setup;
} question;

/* Policy, ball and set-up of a model. */
static void complete(nadir_context *context, bool uniform, nadir_domain domain, double p, question *made)
{
    nadir_optimum_result result = {.size = sizeof result};
    bench_check(context, uniform ? nadir_policy_create_uniform(context, made->model, &made->policy)
                                 : nadir_optimum(context, made->model, NULL, &made->policy, &result));
    bench_check(context, nadir_solver_create(context, made->model, made->policy, NULL, &made->solver));
    nadir_ball_default(&made->ball);
    made->ball.domain = domain;
    made->ball.norm = p;
    made->ball.radius = &made->radius;
    made->ball.radius_count = 1;
    bench_check(context, nadir_setup_make(context, made->solver, &made->ball, false, &made->setup));
}

static void make_garnet(nadir_context *context, int64_t seed, bool uniform, double p, question *made)
{
    static const double radii[2][5] = {{0.5, 1, 2, 4, 8}, {0.4, 0.8, 1.6, 3.2, 0}};
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = 20 + seed % 3 * 10;
    shape.actions = 3;
    shape.branch = 5;
    shape.seed = (uint64_t)seed;
    bench_check(context, nadir_model_generate(context, "garnet", &shape, &made->model));
    made->radius = p == 1 ? radii[0][seed / 2 % 5] : radii[1][seed / 2 % 4];
    complete(context, uniform, seed % 2 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX, p, made);
}

/* FrozenLake 4x4 of Gymnasium: slippery, moves go sideways with probability 2/3; holes and the goal hold for ever; 1 is
 * paid on landing in the goal, the last state. */
static nadir_model *make_lake(nadir_context *context, double discount)
{
    enum { SIDE = 4, CELLS = SIDE * SIDE, MOVES = 4 };
    static const char lake[] = "SFFFFHFHFFFHHFFG";
    static const int down[MOVES] = {0, 1, 0, -1};
    static const int right[MOVES] = {-1, 0, 1, 0};
    double *P = bench_new(2 * CELLS * MOVES * CELLS, sizeof *P);
    double *paid = P + CELLS * MOVES * CELLS;
    int64_t state_rows[CELLS + 1];
    const double initial[CELLS] = {1};
    nadir_model *model = NULL;
    nadir_model_data data;
    for (int cell = 0; cell <= CELLS; cell++) {
        state_rows[cell] = (int64_t)MOVES * cell;
    }
    for (int row = 0; row < CELLS * MOVES; row++) {
        const int cell = row / MOVES;
        const bool ends = lake[cell] == 'H' || lake[cell] == 'G';
        for (int side = -1; side <= 1; side++) {
            const int move = (row + side + MOVES) % MOVES;
            const int y = cell / SIDE + down[move];
            const int x = cell % SIDE + right[move];
            const bool stays = ends || y < 0 || y >= SIDE || x < 0 || x >= SIDE;
            const int to = stays ? cell : y * SIDE + x;
            P[row * CELLS + to] += 1.0 / 3;
            paid[row * CELLS + to] = lake[to] == 'G' && !ends ? 1 : 0;
        }
    }
    nadir_model_data_default(&data);
    data.states = CELLS;
    data.rows = (int64_t)CELLS * MOVES;
    data.discount = discount;
    data.state_rows = state_rows;
    data.dense = P;
    data.transition_rewards = paid;
    data.initial = initial;
    bench_check(context, nadir_model_create(context, &data, &model));
    free(P);
    return model;
}

static const struct small_model {
    const char *name, *kind;
    double discount; /* of lakes */
} small_models[] = {{"FrozenLake, 0.95", "lake", 0.95}, {"FrozenLake, 0.99", "lake", 0.99},
                    {"riverswim", "riverswim", 0},      {"machine", "machine", 0},
                    {"gridworld", "gridworld", 0},      {"forest", "forest", 0},
                    {"inventory", "inventory", 0}};

/* Policies, domains and radii in turn. */
static void make_small(nadir_context *context, const struct small_model *given, int number, double p,
                       question *made)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    if (strcmp(given->kind, "lake") == 0) {
        made->model = make_lake(context, given->discount);
    } else {
        bench_check(context, nadir_model_generate(context, given->kind, &shape, &made->model));
    }
    made->radius = 0.2 + 0.4 * (number / 4) / (RADII - 1);
    complete(context, number % 2, number / 2 % 2 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX, p, made);
}

static void clear(nadir_context *context, question *made)
{
    nadir_setup_clear(context, &made->setup);
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

/* Another row: all of it leads to one state, or none to one of its successors. nominal, entries: [states]. */
static void random_row(nadir_random *random, int64_t states, bool all, const double *nominal, double *entries)
{
    const bool leaves = nadir_random_uniform(random) < 0.5;
    int64_t chosen;
    double others = 0;
    do {
        chosen = (int64_t)(nadir_random_uniform(random) * (double)states);
    } while (!(nominal[chosen] > 0 || (all && !leaves)));
    for (int64_t t = 0; t < states; t++) {
        others += t != chosen && (all || nominal[t] > 0);
    }
    for (int64_t t = 0; t < states; t++) {
        const double more = all || nominal[t] > 0 ? nominal[chosen] / others : 0;
        entries[t] = !leaves || others == 0 ? t == chosen : t == chosen ? 0 : nominal[t] + more;
    }
}

/* A kernel of the ball: some rows are others, all changes shortened alike. To be freed. */
static nadir_kernel *random_kernel(nadir_context *context, const nadir_problem *problem, nadir_random *random)
{
    nadir_model *model = problem->model;
    const int64_t n = model->states;
    const double p = problem->uncertainty->p;
    const bool all = problem->uncertainty->domain == NADIR_DOMAIN_SIMPLEX;
    const double share = pow(0.1, nadir_random_uniform(random)); /* of rows that change */
    int64_t *rows = bench_new(2 * model->rows + 1, sizeof *rows);
    int64_t *starts = rows + model->rows;
    int32_t *columns = bench_new(model->rows * n, sizeof *columns);
    double *entries = bench_new(2 * model->rows * n, sizeof *entries);
    double *nominal = entries + model->rows * n;
    double sum = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row own = nadir_model_row(model, row);
        const double scale = nadir_uncertainty_scale(problem->uncertainty, row);
        for (int64_t i = 0; i < own.count; i++) {
            nominal[row * n + nadir_row_column(&own, i)] = own.values[i];
        }
        memcpy(entries + row * n, nominal + row * n, (size_t)n * sizeof *entries);
        if (nadir_random_uniform(random) < share && scale > 0) {
            random_row(random, n, all, nominal + row * n, entries + row * n);
        }
        for (int64_t t = 0; t < n; t++) {
            const double moved = fabs(entries[row * n + t] - nominal[row * n + t]);
            sum += moved > 0 ? pow(moved / scale, p) : 0;
            columns[row * n + t] = (int32_t)t;
        }
        rows[row] = row;
        starts[row + 1] = (row + 1) * n;
    }
    const double shorter = fmin(1, problem->uncertainty->radius * (1 - 1e-9) / pow(sum, 1 / p));
    for (int64_t i = 0; i < model->rows * n; i++) {
        entries[i] = nominal[i] + shorter * (entries[i] - nominal[i]);
    }
    nadir_kernel *kernel = NULL;
    const nadir_changed_rows changed = {model->rows, rows, starts, columns, entries};
    bench_check(context, nadir_kernel_create_changed(context, model, &changed, &kernel));
    free(rows);
    free(columns);
    free(entries);
    return kernel;
}

/* The return at the end of a search; *start becomes its kernel. */
static double descend(nadir_context *context, const nadir_problem *problem, double beta, nadir_kernel **start)
{
    nadir_candidate found = {0};
    bench_check(context, nadir_frank_wolfe_run(context, problem, beta, *start, 1e-9, 2000, &found));
    const double J = found.J;
    nadir_kernel_free(*start);
    *start = found.kernel;
    found.kernel = NULL;
    nadir_candidate_clear(context, &found);
    return J;
}

/* The least return from random starts, and at the end of the path. */
static double attack(nadir_context *context, const nadir_problem *problem, uint64_t seed)
{
    const double beta = problem->uncertainty->radius;
    const double ratio = pow(40, 1.0 / LEVELS);
    nadir_kernel *kernel = NULL;
    nadir_random random;
    double least = INFINITY;
    nadir_random_seed(&random, seed);
    for (int i = 0; i < STARTS; i++) {
        kernel = random_kernel(context, problem, &random);
        least = fmin(least, descend(context, problem, beta, &kernel));
        nadir_kernel_free(kernel);
    }
    kernel = NULL;
    (void)descend(context, problem, 40 * beta, &kernel);
    for (int level = LEVELS; level-- > 0;) {
        const nadir_lagrangian larger = {.kernel = kernel, .distance = beta * pow(ratio, level + 1)};
        nadir_kernel *start = NULL;
        bench_check(context, nadir_lagrangian_kernel_in_ball(context, problem, beta * pow(ratio, level),
                                                             &larger, &start));
        nadir_kernel_free(kernel);
        kernel = start;
        const double J = descend(context, problem, beta * pow(ratio, level), &kernel);
        least = level == 0 ? fmin(least, J) : least;
    }
    nadir_kernel_free(kernel);
    return least;
}

/* Kernels and seconds of the processor. */
typedef struct work {
    int64_t kernels;
    double seconds;
} work;

static nadir_robust evaluate(nadir_context *context, const question *asked, bool leave_out, work *sum)
{
    nadir_robust found = {.size = sizeof found};
    const clock_t begun = clock();
    without = leave_out;
    kernels = 0;
    bench_check(context, nadir_solver_robust(context, asked->solver, &asked->ball, NULL, &found, NULL));
    sum->kernels += kernels;
    sum->seconds += (double)(clock() - begun) / CLOCKS_PER_SEC;
    return found;
}

typedef struct tally {
    int asked, certified, missed;
    double furthest;
    work plain, whole;
} tally;

/* One question, which is cleared. */
static void ask(nadir_context *context, question *asked, tally *sum)
{
    const nadir_problem *problem = &asked->setup.problem;
    (void)evaluate(context, asked, true, &sum->plain);
    const nadir_robust found = evaluate(context, asked, false, &sum->whole);
    const double least = attack(context, problem, 900000 + (uint64_t)sum->asked);
    const double penalty = problem->J - least; /* rewards on landing shift both returns */
    const double past = (penalty - found.penalty) / fmax(found.penalty, penalty);
    sum->asked++;
    sum->certified += found.certified;
    sum->missed += past > 1e-6;
    sum->furthest = fmax(sum->furthest, past);
    clear(context, asked);
}

static void print(const char *name, double p, const tally *sum)
{
    const double count = (double)sum->asked;
    printf("| %s | %g | %d | %d | %d | %.1e | %.1f | %.1f | %.2f |\n", name, p, sum->asked, sum->certified,
           sum->missed, sum->furthest, (double)sum->plain.kernels / count, (double)sum->whole.kernels / count,
           sum->whole.seconds / sum->plain.seconds);
    (void)fflush(stdout);
}

static void measure_garnets(nadir_context *context, double p, int64_t first, int64_t garnets)
{
    tally sum = {0};
    for (int64_t i = 0; i < 2 * garnets; i++) {
        question asked = {0};
        make_garnet(context, first + i / 2, i % 2, p, &asked);
        ask(context, &asked, &sum);
    }
    print("garnets", p, &sum);
}

static void measure_small(nadir_context *context, double p)
{
    for (size_t i = 0; i < sizeof small_models / sizeof *small_models; i++) {
        tally sum = {0};
        for (int number = 0; number < 4 * RADII; number++) {
            question asked = {0};
            make_small(context, &small_models[i], number, p, &asked);
            ask(context, &asked, &sum);
        }
        print(small_models[i].name, p, &sum);
    }
}

int main(int count, char **arguments)
{
    const bool small = count > 1 && strcmp(arguments[1], "small") == 0;
    const int64_t first = count > 1 && !small ? strtoll(arguments[1], NULL, 10) : 740000;
    nadir_context *context = bench_context(1);
    printf("## Further starts\n\n");
    printf("| models | p | problems | certified | missed | by at most, of the penalty | kernels without | "
           "kernels | time / without |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    if (small) {
        measure_small(context, 2);
        measure_small(context, 1);
    } else {
        const double only = count > 2 ? strtod(arguments[2], NULL) : 0;
        for (int p = 2; p >= 1; p--) {
            if (only == 0 || only == p) {
                measure_garnets(context, p, first, p == 2 ? 128 : 120);
            }
        }
    }
    nadir_context_free(context);
    return 0;
}
