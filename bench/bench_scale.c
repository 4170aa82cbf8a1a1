/*
 * bench_scale.c: large sparse models on one machine: what robust evaluation and optimisation cost beside the
 * value alone, and how that grows.
 *
 *     bench_scale [quick] [alone] [targets|structured|growth]... [plot FILE.svg]
 *
 * quick: a tenth of the size; alone: one thread. Without names all three tables are made; plot draws the
 * third.
 *
 * Seconds are by the clock, on an idle machine what a user waits; alone, those of the processor, which other
 * programs disturb little. Ratios are of one run. "v" is P^pi and one solve: the nominal value, nothing else.
 * Memory is the most that the process held since the model was there, over the bytes of the model:
 * probabilities, columns, starts and rewards. "effort" is products with the nominal P^pi or its transpose, in
 * all; of the optimum, policies evaluated. Growth is told in seconds and in entries of P^pi, of any kernel,
 * that products have read: the second does not depend on the machine. Exponents are slopes of least squares
 * in logarithms. There are two families of the same size and shape: garnets, whose successors lie anywhere,
 * which is the worst that a cache can meet, and garnets whose successors lie within 50 states, of a smaller
 * discount: news travels slowly there.
 */
#include "growth.h"
#include "linalg/matrix.h"
#include "measure.h"
#include "model/kernel.h"
#include "model/model.h"
#include "solve/occupancy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FAMILIES = 2 };

/* A model, and what its value alone costs. */
typedef struct subject {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    double bytes;       /* of the model */
    double value;       /* seconds of v */
    int64_t products;   /* of v */
    const char *wanted; /* backend; NULL: any */
    const char *backend;
} subject;

/* What one question cost. */
typedef struct answer {
    double seconds; /* nominal and robust */
    double all;     /* and bounds */
    double memory;  /* bytes, with bounds */
    double width;   /* of the bounds, as a share of |J| */
    char proof[32]; /* of the lower bound */
    int64_t effort; /* products of v, d and all that has the nominal operator; or evaluations */
} answer;

static clockid_t watch = CLOCK_MONOTONIC;

static double seconds_now(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(watch, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void clear(subject *on)
{
    nadir_policy_free(on->policy);
    nadir_model_free(on->model);
    nadir_context_free(on->context);
}

/* P^pi and v, as little as a nominal evaluation can be. */
static void measure_value(subject *on)
{
    nadir_context *context = on->context;
    const nadir_model *model = on->model;
    nadir_kernel *kernel = NULL;
    nadir_occupancy *occupancy = NULL;
    nadir_backend_statistics spent;
    double *R = bench_new(model->states, sizeof *R);
    double *v = bench_new(model->states, sizeof *v);
    const double begun = seconds_now();
    bench_check(context, nadir_kernel_create(context, on->model, &kernel));
    bench_check(context, nadir_occupancy_create(context, kernel, on->policy, model->discount, on->wanted, 0,
                                                &occupancy));
    nadir_average_rewards(model, on->policy, R);
    bench_check(context, nadir_occupancy_solve(context, occupancy, 1, R, v, NULL));
    on->value = seconds_now() - begun;
    nadir_occupancy_statistics(occupancy, &spent);
    on->products = spent.iterations;
    on->backend = nadir_occupancy_backend(occupancy);
    nadir_occupancy_free(context, occupancy);
    nadir_kernel_free(kernel);
    free(R);
    free(v);
}

static void complete(subject *made)
{
    bench_check(made->context, nadir_policy_create_uniform(made->context, made->model, &made->policy));
    const nadir_model *model = made->model;
    made->bytes = 12.0 * (double)model->nonzeros + 16.0 * (double)model->rows + 16.0 * (double)model->states;
    measure_value(made);
}

static subject make(const char *kind, const nadir_generate_settings *shape, int32_t threads)
{
    subject made = {.context = bench_context(threads)};
    bench_check(made.context, nadir_model_generate(made.context, kind, shape, &made.model));
    complete(&made);
    return made;
}

static nadir_generate_settings garnet(int64_t states, double discount)
{
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = 4;
    shape.branch = 5;
    shape.discount = discount;
    shape.seed = 1;
    return shape;
}

static nadir_ball ball_of(nadir_domain domain, const double *radius)
{
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = NADIR_SET_NONRECT;
    ball.domain = domain;
    ball.norm = 2;
    ball.radius = radius;
    ball.radius_count = 1;
    return ball;
}

/* One evaluation from nothing; returns its seconds. */
static double evaluate_once(const subject *on, nadir_domain domain, double radius, nadir_robust *result,
                            int64_t *products)
{
    nadir_solver *solver = NULL;
    nadir_solver_settings settings;
    nadir_nominal nominal = {.size = sizeof nominal};
    const nadir_ball ball = ball_of(domain, &radius);
    nadir_solver_settings_default(&settings);
    settings.backend = on->wanted;
    const double begun = seconds_now();
    *result = (nadir_robust){.size = sizeof *result};
    bench_check(on->context, nadir_solver_create(on->context, on->model, on->policy, &settings, &solver));
    bench_check(on->context, nadir_solver_robust(on->context, solver, &ball, NULL, result, NULL));
    const double seconds = seconds_now() - begun;
    bench_check(on->context, nadir_solver_nominal(on->context, solver, &nominal));
    *products = nominal.iterations;
    nadir_solver_free(solver);
    return seconds;
}

/* What is robust and what is proof is told by the library's own clock. */
static answer evaluate(const subject *on, nadir_domain domain, double radius)
{
    answer made = {0};
    nadir_robust result;
    bench_reset_peak();
    made.all = evaluate_once(on, domain, radius, &result, &made.effort);
    made.memory = bench_resident_peak();
    const double found = result.seconds_nominal + result.seconds_robust;
    made.seconds = made.all * found / (found + result.seconds_certify);
    made.width = (result.upper_bound - result.lower_bound) / fabs(result.robust_return);
    (void)snprintf(made.proof, sizeof made.proof, "%s%s", result.certificate,
                   result.certified ? "" : ", wide");
    return made;
}

/* To a gap of 1e-4 of the return, with the proof of it. */
static answer optimise(const subject *on, nadir_domain domain, double radius)
{
    answer made = {0};
    nadir_robust_optimum_settings settings;
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_policy *policy = NULL;
    const nadir_ball ball = ball_of(domain, &radius);
    nadir_robust_optimum_settings_default(&settings);
    settings.gap = 1e-4;
    settings.backend = on->wanted;
    bench_reset_peak();
    const double begun = seconds_now();
    bench_check(on->context,
                nadir_robust_optimum(on->context, on->model, &ball, &settings, &policy, &result, NULL, NULL));
    made.all = seconds_now() - begun;
    made.seconds = made.all;
    made.memory = bench_resident_peak();
    made.effort = result.evaluations;
    made.width = (result.optimality_upper_bound - result.lower_bound) / fabs(result.robust_return);
    (void)snprintf(made.proof, sizeof made.proof, "%s", result.certificate);
    nadir_policy_free(policy);
    return made;
}

static void print_answer(const subject *on, const char *name, const char *what, const answer *found,
                         const char *target)
{
    (void)printf("| %s | %s | %s | %.3g | %lld | %.3g | %.2f | %.2f | %lld | %s | %.1e | %s | %.2f |\n", name,
                 on->backend, what, on->value, (long long)on->products, found->all,
                 found->seconds / on->value, found->all / on->value, (long long)found->effort, target,
                 found->width, found->proof, found->memory / on->bytes);
    (void)fflush(stdout);
}

static void head(const char *title)
{
    (void)printf("\n### %s\n\n"
                 "| model | backend | question | v, s | products of v | all, s | robust / v | all / v | "
                 "effort | target | "
                 "bounds / J | certificate | memory / model |\n"
                 "|---|---|---|---:|---:|---:|---:|---:|---:|---|---:|---|---:|\n",
                 title);
    (void)fflush(stdout);
}

/* ---------------------------------------------------------------------------------------- targets */

static void targets(bench_mode mode)
{
    const int64_t states = mode.quick ? 100000 : 1000000;
    const nadir_generate_settings shape = garnet(states, 0.95);
    char name[64];
    (void)snprintf(name, sizeof name, "garnet, S = %lld", (long long)states);
    subject on = make("garnet", &shape, mode.threads);
    answer found = evaluate(&on, NADIR_DOMAIN_FREE, 0.05);
    print_answer(&on, name, "free", &found, "robust ≤ 6, bounds ≤ 1e-6, memory ≤ 4");
    found = evaluate(&on, NADIR_DOMAIN_SUPPORT, 0.05);
    print_answer(&on, name, "support", &found, "robust ≤ 25");
    found = optimise(&on, NADIR_DOMAIN_SUPPORT, 0.05);
    print_answer(&on, name, "optimise, support", &found, "all ≤ 40, bounds ≤ 1e-4");
    clear(&on);
}

/* ------------------------------------------------------------------------------------- structured */

static void both_domains(const char *kind, const nadir_generate_settings *shape, double free_radius,
                         bench_mode mode)
{
    char name[64];
    char what[64];
    subject on = make(kind, shape, mode.threads);
    (void)snprintf(name, sizeof name, "%s, S = %lld, γ = %g", kind, (long long)on.model->states,
                   shape->discount);
    (void)snprintf(what, sizeof what, "free, β = %g", free_radius);
    answer found = evaluate(&on, NADIR_DOMAIN_FREE, free_radius);
    print_answer(&on, name, what, &found, "");
    found = evaluate(&on, NADIR_DOMAIN_SUPPORT, 0.01);
    print_answer(&on, name, "support, β = 0.01", &found, "");
    clear(&on);
}

static void structured(bench_mode mode)
{
    const double discounts[2] = {0.9, 0.99};
    for (int i = 0; i < 2; i++) {
        const int64_t side = mode.quick ? 316 : 1000;
        nadir_generate_settings shape = garnet(mode.quick ? 100000 : 1000000, discounts[i]);
        both_domains("garnet", &shape, 0.01, mode);
        nadir_generate_settings_default(&shape);
        shape.discount = discounts[i];
        shape.width = side;
        shape.height = side;
        both_domains("gridworld", &shape, 0.001, mode);
        nadir_generate_settings_default(&shape);
        shape.discount = discounts[i];
        shape.capacity = mode.quick ? 99999 : 999999;
        shape.demand = 4;
        shape.actions = 4;
        both_domains("inventory", &shape, 0.001, mode);
    }
}

/* ----------------------------------------------------------------------------------------- growth */

static const char *const families[FAMILIES] = {"successors anywhere", "successors within 50 states"};

static const double discounts[FAMILIES] = {0.95, 0.8};

/* A garnet whose transitions lead somewhere near instead: the k-th of a row to the k-th fifth of a window. */
static subject make_near(const nadir_generate_settings *shape, int32_t threads)
{
    enum { WINDOW = 100 };
    subject made = {.context = bench_context(threads), .wanted = "krylov"};
    nadir_model *garnet_model = NULL;
    nadir_model_data data;
    nadir_model_data_default(&data);
    bench_check(made.context, nadir_model_generate(made.context, "garnet", shape, &garnet_model));
    nadir_model_view(garnet_model, &data);
    int32_t *columns = bench_new(data.nonzeros, sizeof *columns);
    const int64_t part = WINDOW / shape->branch;
    for (int64_t s = 0; s < data.states; s++) {
        for (int64_t row = data.state_rows[s]; row < data.state_rows[s + 1]; row++) {
            for (int64_t i = data.row_starts[row]; i < data.row_starts[row + 1]; i++) {
                const int64_t k = i - data.row_starts[row];
                const int64_t near = s - WINDOW / 2 + k * part + data.columns[i] % part;
                columns[i] = (int32_t)((near + data.states) % data.states);
            }
        }
    }
    data.columns = columns;
    bench_check(made.context, nadir_model_create(made.context, &data, &made.model));
    nadir_model_free(garnet_model);
    free(columns);
    complete(&made);
    return made;
}

/* Entries of P^pi, or of its transpose, that products have read: the linker hands every call of
 * nadir_matrix_combine to this one (CMakeLists.txt). */
void bench_combine(const nadir_context *context, const nadir_matrix *matrix, int64_t count, double shift,
                   double scale, const double *x, double *y) __asm__("__real_nadir_matrix_combine");
void bench_count_combine(const nadir_context *context, const nadir_matrix *matrix, int64_t count,
                         double shift, double scale, const double *x,
                         double *y) __asm__("__wrap_nadir_matrix_combine");

static double entries_read;

void bench_count_combine(const nadir_context *context, const nadir_matrix *matrix, int64_t count,
                         double shift, double scale, const double *x, double *y)
{
    const int64_t n = matrix->size;
    entries_read += (double)count * (double)(matrix->dense != NULL ? n * n : matrix->starts[n]);
    bench_combine(context, matrix, count, shift, scale, x, y);
}

static double ask(int kind, subject *on)
{
    switch (kind) {
    case 0:
        measure_value(on);
        return on->value;
    case 1:
        return evaluate(on, NADIR_DOMAIN_FREE, 0.05).all;
    case 2:
        return evaluate(on, NADIR_DOMAIN_SUPPORT, 0.05).all;
    default:
        return optimise(on, NADIR_DOMAIN_SUPPORT, 0.05).all;
    }
}

/* The least seconds of a few runs: of small models there are more, since they are over so soon. */
static void measure_size(int family, int64_t states, int i, bench_mode mode, grown *all)
{
    const nadir_generate_settings shape = garnet(states, discounts[family]);
    subject on = family == 0 ? make("garnet", &shape, mode.threads) : make_near(&shape, mode.threads);
    all->transitions[i] = (double)on.model->nonzeros;
    for (int kind = 0; kind < GROWN_KINDS; kind++) {
        double spent = 0;
        double least = INFINITY;
        for (int run = 0; run == 0 || (run < 9 && spent < 1); run++) {
            entries_read = 0;
            const double seconds = ask(kind, &on);
            least = fmin(least, seconds);
            spent += seconds;
        }
        all->seconds[kind][i] = least;
        all->entries[kind][i] = entries_read;
    }
    clear(&on);
}

static void print_exponents(const grown *all, int from, const char *what)
{
    (void)printf("| | %s |", what);
    for (int kind = 0; kind < GROWN_KINDS; kind++) {
        (void)printf(" %.3f |", bench_exponent(all, from, all->seconds[kind]));
    }
    for (int kind = 0; kind < GROWN_KINDS; kind++) {
        (void)printf(" %.3f |", bench_exponent(all, from, all->entries[kind]));
    }
    (void)printf("\n");
}

static void grow(int family, bench_mode mode, grown *all)
{
    static const int64_t states[GROWN_SIZES] = {5000, 15000, 50000, 150000, 400000, 1000000};
    *all = (grown){.count = mode.quick ? 4 : GROWN_SIZES};
    (void)printf("\n### Growth: 4 actions, 5 %s, discount %g, radius 0.05\n\n"
                 "| states | transitions | v, s | free, s | support, s | optimise, s | "
                 "v, entries | free, entries | support, entries | optimise, entries |\n"
                 "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
                 families[family], discounts[family]);
    for (int i = 0; i < all->count; i++) {
        measure_size(family, states[i], i, mode, all);
        (void)printf("| %lld | %.3g |", (long long)states[i], all->transitions[i]);
        for (int kind = 0; kind < GROWN_KINDS; kind++) {
            (void)printf(" %.3g |", all->seconds[kind][i]);
        }
        for (int kind = 0; kind < GROWN_KINDS; kind++) {
            (void)printf(" %.3g |", all->entries[kind][i]);
        }
        (void)printf("\n");
        (void)fflush(stdout);
    }
    print_exponents(all, 0, "exponent");
    print_exponents(all, 2, "exponent from 10⁶ on");
}

static void growth(bench_mode mode, const char *picture)
{
    grown all[FAMILIES];
    for (int family = 0; family < FAMILIES; family++) {
        grow(family, mode, &all[family]);
    }
    if (picture != NULL) {
        bench_draw_growth(picture, FAMILIES, families, all);
    }
}

int main(int count, char **words)
{
    bench_mode mode = {0};
    const char *picture = NULL;
    bool asked[3] = {false};
    static const char *const tables[3] = {"targets", "structured", "growth"};
    bool any = false;
    for (int i = 1; i < count; i++) {
        mode.quick = mode.quick || strcmp(words[i], "quick") == 0;
        mode.threads = strcmp(words[i], "alone") == 0 ? 1 : mode.threads;
        if (strcmp(words[i], "plot") == 0 && i + 1 < count) {
            picture = words[++i];
        }
        for (int table = 0; table < 3; table++) {
            asked[table] = asked[table] || strcmp(words[i], tables[table]) == 0;
            any = any || asked[table];
        }
    }
    watch = mode.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    if (asked[0] || !any) {
        head("A million states");
        bench_section(targets, mode);
    }
    if (asked[1] || !any) {
        head("Models with structure");
        bench_section(structured, mode);
    }
    if (asked[2] || !any) {
        growth(mode, picture);
    }
    return 0;
}
