/*
 * bench_frontier.c: whether the worst kernel of a non-rectangular ball is proven to be the worst, at radii where it costs
 * a share of the nominal return.
 *
 *     bench_frontier [SECONDS [SHARE [KIND]]]
 *
 * SECONDS: with certify strict, and so many seconds of processor time for each worst case, so that other programs do not
 * matter; 0 (default): with auto. SHARE: default 0.2. KIND: models of this kind alone. Models of every kind that `nadir generate` makes, 5 to 200 states, optimal and uniform policy. A share that
 * no kernel of the domain costs does not count. One thread.
 */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* All clocks show processor time, by the linker's --wrap. */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    return __real_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, now);
}

enum { NORMS = 4, DOMAINS = 2 };
static const double norms[NORMS] = {1, 1.5, 2, 3};
static const nadir_domain domains[DOMAINS] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT};

typedef struct frontier_model {
    const char *kind;
    int64_t states, actions, branch, capacity, width;
} frontier_model;

static const frontier_model models[] = {
    {.kind = "riverswim", .states = 6},
    {.kind = "riverswim", .states = 20},
    {.kind = "machine", .states = 10},
    {.kind = "machine", .states = 40},
    {.kind = "inventory", .capacity = 4},
    {.kind = "inventory", .capacity = 19},
    {.kind = "forest", .states = 5},
    {.kind = "forest", .states = 50},
    {.kind = "gridworld", .width = 5},
    {.kind = "gridworld", .width = 14},
    {.kind = "random", .states = 10, .actions = 4},
    {.kind = "random", .states = 50, .actions = 4},
    {.kind = "garnet", .states = 10, .actions = 3, .branch = 3},
    {.kind = "garnet", .states = 50, .actions = 4, .branch = 5},
    {.kind = "garnet", .states = 200, .actions = 4, .branch = 5},
};

typedef struct tally {
    int asked, certified;
} tally;

typedef tally table[NORMS][DOMAINS];

static nadir_model *make(nadir_context *context, const frontier_model *given)
{
    nadir_generate_settings shape;
    nadir_model *model = NULL;
    nadir_generate_settings_default(&shape);
    shape.states = given->states;
    shape.actions = given->actions;
    shape.branch = given->branch;
    shape.capacity = given->capacity > 0 ? given->capacity : shape.capacity;
    shape.width = given->width > 0 ? given->width : shape.width;
    shape.height = given->width > 0 ? given->width : shape.height;
    bench_check(context, nadir_model_generate(context, given->kind, &shape, &model));
    return model;
}

/* The radius at which the worst case found costs this share of the return; NaN: there is none. */
static double radius_of(nadir_context *context, nadir_solver *solver, nadir_ball *ball, double share)
{
    static const double unit = 1;
    nadir_robust_settings settings;
    nadir_robust nominal = {.size = sizeof nominal};
    nadir_radius found = {.size = sizeof found};
    const double nothing = 0;
    nadir_robust_settings_default(&settings);
    settings.certify = NADIR_CERTIFY_OFF;
    settings.tolerance = 1e-6;
    ball->radius = &nothing;
    bench_check(context, nadir_solver_robust(context, solver, ball, &settings, &nominal, NULL));
    ball->radius = &unit;
    const double J = nominal.nominal_return;
    const nadir_status status =
        nadir_solver_radius(context, solver, ball, &settings, J - share * fabs(J), &found);
    return status == NADIR_OK && isfinite(found.radius) && found.radius > 0 ? found.radius : NAN;
}

static void prove(nadir_context *context, nadir_solver *solver, nadir_ball *ball, double seconds, tally *into)
{
    nadir_robust_settings settings;
    nadir_robust result = {.size = sizeof result};
    nadir_robust_settings_default(&settings);
    settings.certify = seconds > 0 ? NADIR_CERTIFY_STRICT : NADIR_CERTIFY_AUTO;
    settings.time_limit = seconds;
    const nadir_status status = nadir_solver_robust(context, solver, ball, &settings, &result, NULL);
    if (status != NADIR_ERROR_NOT_CONVERGED) {
        bench_check(context, status);
    }
    into->asked++;
    into->certified += result.certified;
}

static void run_policy(nadir_context *context, nadir_model *model, bool optimal, double share, double seconds,
                       table into)
{
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_optimum_result optimum = {.size = sizeof optimum};
    bench_check(context, optimal ? nadir_optimum(context, model, NULL, &policy, &optimum)
                                 : nadir_policy_create_uniform(context, model, &policy));
    bench_check(context, nadir_solver_create(context, model, policy, NULL, &solver));
    for (int i = 0; i < NORMS * DOMAINS; i++) {
        const int norm = i / DOMAINS;
        const int domain = i % DOMAINS;
        nadir_ball ball;
        nadir_ball_default(&ball);
        ball.set = NADIR_SET_NONRECT;
        ball.domain = domains[domain];
        ball.norm = norms[norm];
        ball.radius_count = 1;
        const double radius = radius_of(context, solver, &ball, share);
        ball.radius = &radius;
        if (!isnan(radius)) {
            prove(context, solver, &ball, seconds, &into[norm][domain]);
        }
    }
    nadir_solver_free(solver);
    nadir_policy_free(policy);
}

static void print_row(const char *name, table row)
{
    (void)printf("| %s |", name);
    for (int i = 0; i < NORMS * DOMAINS; i++) {
        const tally *cell = &row[i / DOMAINS][i % DOMAINS];
        (void)printf(" %s |", cell->asked == 0 ? "–" : cell->certified > 0 ? "yes" : "no");
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

static void add(table to, table from)
{
    for (int i = 0; i < NORMS * DOMAINS; i++) {
        tally *cell = &to[i / DOMAINS][i % DOMAINS];
        const tally *other = &from[i / DOMAINS][i % DOMAINS];
        cell->asked += other->asked;
        cell->certified += other->certified;
    }
}

static void print_shares(const char *name, table row)
{
    (void)printf("| %s |", name);
    for (int i = 0; i < NORMS * DOMAINS; i++) {
        const tally *cell = &row[i / DOMAINS][i % DOMAINS];
        (void)printf(" %d of %d |", cell->certified, cell->asked);
    }
    (void)printf("\n");
}

int main(int count, char **words)
{
    const double seconds = count > 1 ? strtod(words[1], NULL) : 0;
    const double share = count > 2 ? strtod(words[2], NULL) : 0.2;
    nadir_context *context = bench_context(1);
    table garnets = {0};
    table others = {0};
    (void)printf("| model |");
    for (int i = 0; i < NORMS * DOMAINS; i++) {
        (void)printf(" p = %g, %s |", norms[i / DOMAINS], i % DOMAINS == 0 ? "simplex" : "support");
    }
    (void)printf("\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const bool is_garnet = strcmp(models[i].kind, "garnet") == 0;
        if (count > 3 && strcmp(words[3], models[i].kind) != 0) {
            continue;
        }
        nadir_model *model = make(context, &models[i]);
        for (int optimal = 0; optimal < 2; optimal++) {
            table row = {0};
            char name[80];
            nadir_model_data view;
            nadir_model_data_default(&view);
            nadir_model_view(model, &view);
            (void)snprintf(name, sizeof name, "%s, S = %lld, %s", models[i].kind, (long long)view.states,
                           optimal ? "optimal" : "uniform");
            run_policy(context, model, optimal, share, seconds, row);
            print_row(name, row);
            add(is_garnet ? garnets : others, row);
        }
        nadir_model_free(model);
    }
    print_shares("all but garnets", others);
    print_shares("garnets", garnets);
    nadir_context_free(context);
    return 0;
}
