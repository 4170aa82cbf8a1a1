/*
 * bench_starts.c: what further starts of a search find and cost where no proof succeeds.
 *
 *     bench_starts [FIRST]
 *
 * FIRST: the seed of the first garnet (default 730000; search/multistart.c was tuned on garnets below 500000).
 * One thread. 128 garnets for p = 2 and 60 for p = 1 of 20, 30 and 40 states, 3 actions, 5 successors, each with its
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
#include <time.h>

enum { STARTS = 40, LEVELS = 27 };

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

static void make(nadir_context *context, int64_t seed, bool uniform, double p, question *made)
{
    static const double radii[2][5] = {{0.5, 1, 2, 4, 8}, {0.4, 0.8, 1.6, 3.2, 0}};
    nadir_generate_settings shape;
    nadir_optimum_result result = {.size = sizeof result};
    nadir_generate_settings_default(&shape);
    shape.states = 20 + seed % 3 * 10;
    shape.actions = 3;
    shape.branch = 5;
    shape.seed = (uint64_t)seed;
    bench_check(context, nadir_model_generate(context, "garnet", &shape, &made->model));
    bench_check(context, uniform ? nadir_policy_create_uniform(context, made->model, &made->policy)
                                 : nadir_optimum(context, made->model, NULL, &made->policy, &result));
    bench_check(context, nadir_solver_create(context, made->model, made->policy, NULL, &made->solver));
    made->radius = p == 1 ? radii[0][seed / 2 % 5] : radii[1][seed / 2 % 4];
    nadir_ball_default(&made->ball);
    made->ball.domain = seed % 2 ? NADIR_DOMAIN_SUPPORT : NADIR_DOMAIN_SIMPLEX;
    made->ball.norm = p;
    made->ball.radius = &made->radius;
    made->ball.radius_count = 1;
    bench_check(context, nadir_setup_make(context, made->solver, &made->ball, false, &made->setup));
}

static void clear(nadir_context *context, question *made)
{
    nadir_setup_clear(context, &made->setup);
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
}

/* A kernel of the ball: some rows lead elsewhere, all changes shortened alike. To be freed. */
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
        const bool moves = nadir_random_uniform(random) < share;
        const int64_t chosen = (int64_t)(nadir_random_uniform(random) * (double)(all ? n : own.count));
        for (int64_t i = 0; i < own.count; i++) {
            nominal[row * n + nadir_row_column(&own, i)] = own.values[i];
        }
        for (int64_t t = 0; t < n; t++) {
            const bool there = t == (all ? chosen : nadir_row_column(&own, chosen));
            entries[row * n + t] = moves ? there : nominal[row * n + t];
            sum += pow(fabs(entries[row * n + t] - nominal[row * n + t]), p);
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

static void measure(nadir_context *context, double p, int64_t first, int64_t garnets)
{
    const double count = 2 * (double)garnets;
    int64_t missed = 0;
    int64_t certified = 0;
    work plain = {0};
    work whole = {0};
    double furthest = 0;
    for (int64_t i = 0; i < 2 * garnets; i++) {
        question asked = {0};
        make(context, first + i / 2, i % 2, p, &asked);
        (void)evaluate(context, &asked, true, &plain);
        const nadir_robust found = evaluate(context, &asked, false, &whole);
        certified += found.certified;
        const double least = attack(context, &asked.setup.problem, 900000 + (uint64_t)i);
        const double past = (found.robust_return - least) / fmax(found.penalty, found.nominal_return - least);
        missed += past > 1e-6;
        furthest = fmax(furthest, past);
        clear(context, &asked);
    }
    printf("| %g | %d | %d | %d | %.1e | %.1f | %.1f | %.2f |\n", p, (int)count, (int)certified, (int)missed,
           furthest, (double)plain.kernels / count, (double)whole.kernels / count,
           whole.seconds / plain.seconds);
}

int main(int count, char **arguments)
{
    const int64_t first = count > 1 ? strtoll(arguments[1], NULL, 10) : 730000;
    nadir_context *context = bench_context(1);
    printf("## Further starts\n\n");
    printf("| p | problems | certified | missed | by at most, of the penalty | kernels without | "
           "kernels | time / without |\n"
           "|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    measure(context, 2, first, 128);
    measure(context, 1, first, 60);
    nadir_context_free(context);
    return 0;
}
