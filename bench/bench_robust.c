/*
 * bench_robust.c: what robust evaluation and its proof add to nominal evaluation.
 *
 *     bench_robust [quick] [alone] [FILE...]
 *
 * quick: fewer runs; alone: everything on one thread, for machines that others keep busy. FILEs: models that
 * bring their discount and rewards with them, evaluated on domain support with the uniform policy.
 * Seconds are those that the library reports, as `nadir evaluate --json` prints them: nominal is averaging,
 * factoring, v and d; robust the rest up to the kernel and its return; certify bounds and proofs. Each is the
 * best of several runs from nothing; ratios are of one run of the program. "proof / search" is certify over
 * robust, "many / one" all of 50 radii over all of the evaluation in the row before.
 */
#include "core/random.h"
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS 8
#define RADII   50

/* What is evaluated. */
typedef struct question {
    const char *name;
    nadir_set set;
    nadir_domain domain;
    double norm;
    double radius;
    int64_t count; /* radii at once, up to `radius` */
    int runs;
} question;

typedef struct subject {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_model_data view;
} subject;

static double best(double known, double seconds)
{
    return seconds < known ? seconds : known;
}

/* One evaluation from nothing; the three times become the best so far. */
static nadir_robust evaluate_once(const subject *on, const question *asked, nadir_certify effort,
                                  double seconds[3])
{
    nadir_robust results[RADII];
    double factors[RADII];
    nadir_solver *solver = NULL;
    nadir_robust_settings settings;
    nadir_robust_settings_default(&settings);
    settings.certify = effort;
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = asked->set;
    ball.domain = asked->domain;
    ball.norm = asked->norm;
    ball.radius = &asked->radius;
    ball.radius_count = 1;
    double robust = 0;
    double certify = 0;
    bench_check(on->context, nadir_solver_create(on->context, on->model, on->policy, NULL, &solver));
    for (int64_t i = 0; i < asked->count; i++) {
        results[i].size = sizeof results[i];
        factors[i] = (double)(i + 1) / (double)asked->count;
    }
    bench_check(on->context, nadir_solver_robust_many(on->context, solver, &ball, &settings, asked->count,
                                                      factors, results));
    for (int64_t i = 0; i < asked->count; i++) {
        robust += results[i].seconds_robust;
        certify += results[i].seconds_certify;
    }
    nadir_solver_free(solver);
    seconds[0] = best(seconds[0], results[0].seconds_nominal);
    seconds[1] = best(seconds[1], robust);
    seconds[2] = best(seconds[2], certify);
    return results[asked->count - 1];
}

/* *one: seconds of the last evaluation of one radius, all in all. */
static void measure_with(const subject *on, const question *asked, nadir_certify certify, double *one)
{
    double seconds[3] = {INFINITY, INFINITY, INFINITY};
    char ratio[32] = "";
    nadir_robust result = {0};
    for (int i = 0; i < asked->runs; i++) {
        result = evaluate_once(on, asked, certify, seconds);
    }
    const double all = seconds[0] + seconds[1] + seconds[2];
    if (asked->count > 1) {
        (void)snprintf(ratio, sizeof ratio, "%.1f", all / *one);
    } else {
        *one = all;
    }
    (void)printf(
        "| %s | %s, p = %g, %s | %g%s | %.3g | %.3g | %.3g | %.2f | %.2f | %lld | %s | %.1f | %s |\n",
        asked->name, nadir_set_name(asked->set), asked->norm, nadir_domain_name(asked->domain), asked->radius,
        asked->count > 1 ? ", 50 radii up to it" : "", 1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2],
        1 + seconds[1] / seconds[0], all / seconds[0], (long long)result.iterations,
        certify == NADIR_CERTIFY_OFF ? "not asked"
        : result.certified           ? result.certificate
                                     : "no",
        seconds[2] / seconds[1], ratio);
    (void)fflush(stdout);
}

static void measure_all(const subject *on, size_t count, const question *asked, nadir_certify certify)
{
    double one = NAN;
    for (size_t j = 0; j < count; j++) {
        measure_with(on, &asked[j], certify, &one);
    }
}

/* Random probabilities, uniform before they are normalised. */
static void make_policy(subject *made)
{
    double *probabilities = bench_new(made->view.rows, sizeof *probabilities);
    nadir_random random;
    nadir_random_seed(&random, 1);
    for (int64_t s = 0; s < made->view.states; s++) {
        double sum = 0;
        for (int64_t row = made->view.state_rows[s]; row < made->view.state_rows[s + 1]; row++) {
            probabilities[row] = nadir_random_uniform(&random);
            sum += probabilities[row];
        }
        for (int64_t row = made->view.state_rows[s]; row < made->view.state_rows[s + 1]; row++) {
            probabilities[row] /= sum;
        }
    }
    bench_check(made->context, nadir_policy_create(made->context, made->model, probabilities, &made->policy));
    free(probabilities);
}

static subject generate(const char *kind, int64_t states, int64_t actions, int64_t branch, bench_mode mode)
{
    subject made = {.context = bench_context(mode.threads)};
    nadir_generate_settings shape;
    nadir_generate_settings_default(&shape);
    shape.states = states;
    shape.actions = actions;
    shape.branch = branch;
    shape.discount = states > 0 ? 0.9 : shape.discount; /* the classics as they are */
    bench_check(made.context, nadir_model_generate(made.context, kind, &shape, &made.model));
    nadir_model_data_default(&made.view);
    nadir_model_view(made.model, &made.view);
    make_policy(&made);
    return made;
}

static void clear(subject *made)
{
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

static void free_domain(bench_mode mode)
{
    const int64_t sizes[2] = {128, 1000};
    for (int i = 0; i < 2; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "dense, S = %lld", (long long)sizes[i]);
        subject on = generate("random", sizes[i], ACTIONS, 0, mode);
        const int runs = (i == 0 ? 400 : 20) / (mode.quick ? 5 : 1);
        const question asked[] = {
            {name, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.01, 1, runs},
            {name, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.1, 1, runs},
            {name, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.1, RADII, runs / 2},
            {name, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1, 0.1, 1, runs},
            {name, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 1.5, 0.1, 1, runs},
            {name, NADIR_SET_SA, NADIR_DOMAIN_FREE, 2, 0.01, 1, runs},
            {name, NADIR_SET_S, NADIR_DOMAIN_FREE, 2, 0.01, 1, runs},
        };
        measure_all(&on, sizeof asked / sizeof *asked, asked, NADIR_CERTIFY_AUTO);
        clear(&on);
    }
}

static void valid_domains(bench_mode mode)
{
    const char *const name = "dense, S = 300";
    const int runs = mode.quick ? 3 : 10;
    subject on = generate("random", 300, ACTIONS, 0, mode);
    const question asked[] = {
        {name, NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 1, 0.01, 1, runs},
        {name, NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, 0.01, 1, runs},
        {name, NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, 2, 0.1, 1, runs},
        {name, NADIR_SET_SA, NADIR_DOMAIN_SIMPLEX, INFINITY, 0.001, 1, runs},
        {name, NADIR_SET_S, NADIR_DOMAIN_SIMPLEX, 2, 0.01, 1, runs},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.1, 1, runs},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.5, 1, runs},
    };
    measure_all(&on, sizeof asked / sizeof *asked, asked, NADIR_CERTIFY_AUTO);
    clear(&on);
}

/* One radius and fifty, by searches alone: each profits from the one before. */
static void radii(bench_mode mode)
{
    const char *const name = "garnet, S = 2000";
    const int runs = mode.quick ? 2 : 5;
    subject on = generate("garnet", 2000, ACTIONS, 10, mode);
    const question asked[] = {
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.1, 1, runs},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.1, RADII, runs},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.1, 1, runs},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.1, RADII, runs},
    };
    measure_all(&on, sizeof asked / sizeof *asked, asked, NADIR_CERTIFY_OFF);
    clear(&on);
}

/* Small sparse models, with proofs: one radius and fifty. */
static void proofs(bench_mode mode)
{
    const struct {
        const char *name, *kind;
        int64_t states, actions, branch;
        double radius;
    } models[] = {
        {"machine replacement", "machine", 0, 0, 0, 0.1},    {"RiverSwim", "riverswim", 0, 0, 0, 0.1},
        {"RiverSwim, S = 200", "riverswim", 200, 0, 0, 0.1}, {"garnet, S = 100", "garnet", 100, 4, 5, 0.1},
        {"garnet, S = 300", "garnet", 300, 8, 10, 0.1},      {"garnet, S = 500", "garnet", 500, 4, 5, 0.1},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const bool tiny = models[i].states == 0;
        const int runs = (tiny ? 200 : 10) / (mode.quick ? 5 : 1);
        const question asked[] = {
            {models[i].name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, models[i].radius, 1, runs},
            {models[i].name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, models[i].radius, RADII, runs / 2},
        };
        subject on = generate(models[i].kind, models[i].states, models[i].actions, models[i].branch, mode);
        measure_all(&on, sizeof asked / sizeof *asked, asked, NADIR_CERTIFY_AUTO);
        clear(&on);
    }
}

static void sparse(bench_mode mode)
{
    const int64_t states = mode.quick ? 10000 : 100000;
    char name[64];
    (void)snprintf(name, sizeof name, "garnet, S = %lld", (long long)states);
    subject on = generate("garnet", states, 5, 10, mode);
    const question asked[] = {
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, 0.1, 1, 3},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.1, 1, 3},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, 0.1, 1, 3},
        {name, NADIR_SET_SA, NADIR_DOMAIN_SUPPORT, 2, 0.1, 1, 3},
    };
    measure_all(&on, sizeof asked / sizeof *asked, asked, NADIR_CERTIFY_AUTO);
    clear(&on);
}

static void from_file(const char *path, bench_mode mode)
{
    subject on = {.context = bench_context(mode.threads)};
    bench_check(on.context, nadir_model_read(on.context, path, NULL, &on.model));
    bench_check(on.context, nadir_policy_create_uniform(on.context, on.model, &on.policy));
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const int runs = mode.quick ? 5 : 50;
    const question asked[] = {
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.03, 1, runs},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.03, RADII, runs / 5},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.1, 1, runs},
        {name, NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, 0.1, RADII, runs / 5},
    };
    measure_all(&on, sizeof asked / sizeof *asked, asked, NADIR_CERTIFY_AUTO);
    clear(&on);
}

int main(int count, char **words)
{
    bench_mode mode = {0};
    int files = 1;
    for (; files < count && (strcmp(words[files], "quick") == 0 || strcmp(words[files], "alone") == 0);
         files++) {
        mode.quick = mode.quick || strcmp(words[files], "quick") == 0;
        mode.threads = strcmp(words[files], "alone") == 0 ? 1 : mode.threads;
    }
    (void)printf("### Robust evaluation\n\n");
    (void)printf(
        "| model | ball | radius | nominal, ms | robust, ms | certify, ms | with robust | with both | "
        "iterations | certified | proof / search | many / one |\n"
        "|---|---|---|---:|---:|---:|---:|---:|---:|---|---:|---:|\n");
    (void)fflush(stdout);
    bench_section(free_domain, mode);
    bench_section(valid_domains, mode);
    bench_section(radii, mode);
    bench_section(proofs, mode);
    bench_section(sparse, mode);
    for (int i = files; i < count; i++) {
        from_file(words[i], mode);
    }
    return 0;
}
