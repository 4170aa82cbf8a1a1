/*
 * penalty_function.c: the penalty function F(lambda) against lambda, its fixed point, and the steps of the
 * methods that look for it.
 *
 * With D = (I - gamma P^pi)^-1 written out, W_s = |pi_s|_2, and Phi the centring,
 *
 *     E_lambda = gamma Phi (v d^T - lambda D) W,    F(lambda) = beta max |E_lambda c|_2 over |c|_2 <= 1
 *
 * which is beta sigma_max(E_lambda); with c >= 0, as the paper has it, its Algorithm 2 gives an attained
 * value (the same on S x S matrices as on SA x SA ones: the best b of a state is c_s pi_s / W_s). The penalty
 * is the root of F(lambda) = lambda. Newton's step from lambda is the penalty of the kernel that attains
 * F(lambda), gamma (d . W c) (k . v) / (1 + gamma k . D W c) with k = E c / |E c|.
 */
#include "experiment.h"
#include "inside.h"

#include <math.h>
#include <string.h>

enum { STATES = 100, ACTIONS = 10, POINTS = 61, STEPS = 64 };
#define DISCOUNT 0.9
/* The last point of a search is this near to the fixed point, relatively. */
#define NEAR 1e-12

typedef struct curve {
    experiment_run *run;
    double beta;
    double *D;         /* [STATES * STATES] column after column */
    double *E;         /* [STATES * STATES] row after row */
    double *x, *y, *g; /* [STATES] */
    double *W;         /* [STATES] */
    const double *v, *d;
    nadir_random random;
    double exact;      /* the penalty, as nadir evaluates it */
    double separation; /* where Algorithm 2 falls behind by 0.1 %; infinity: nowhere */
} curve;

/* One step of a search. */
typedef struct step {
    double lambda, F;
} step;

/* ------------------------------------------------------------------------------------------------ F */

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int64_t s = 0; s < STATES; s++) {
        sum += x[s] * y[s];
    }
    return sum;
}

/* y <- y + a x */
static void add(double a, const double *x, double *y)
{
    for (int64_t s = 0; s < STATES; s++) {
        y[s] += a * x[s];
    }
}

static void fill_E(const curve *self, double lambda)
{
    for (int64_t t = 0; t < STATES; t++) {
        double mean = 0;
        for (int64_t s = 0; s < STATES; s++) {
            const double entry =
                DISCOUNT * (self->v[s] * self->d[t] - lambda * self->D[t * STATES + s]) * self->W[t];
            self->E[s * STATES + t] = entry;
            mean += entry / STATES;
        }
        for (int64_t s = 0; s < STATES; s++) {
            self->E[s * STATES + t] -= mean;
        }
    }
}

static nadir_status apply(nadir_context *context, void *user, const double *x, double *y)
{
    const curve *self = user;
    (void)context;
    for (int64_t s = 0; s < STATES; s++) {
        y[s] = dot(self->E + s * STATES, x);
    }
    return NADIR_OK;
}

static nadir_status apply_transposed(nadir_context *context, void *user, const double *x, double *y)
{
    const curve *self = user;
    (void)context;
    memset(y, 0, STATES * sizeof *y);
    for (int64_t s = 0; s < STATES; s++) {
        add(x[s], self->E + s * STATES, y);
    }
    return NADIR_OK;
}

/* F(lambda), with x and y = k where it is attained. */
static nadir_status evaluate(curve *self, double lambda, double *F)
{
    const nadir_linear_map map = {STATES, STATES, apply, apply_transposed, self};
    const nadir_vec here = nadir_vec_host(self->run->context);
    nadir_singular_triple triple;
    fill_E(self, lambda);
    const nadir_status status =
        nadir_lanczos_top(&here, &map, NULL, &self->random, 1e-13, 1000, self->x, self->y, &triple);
    *F = self->beta * triple.sigma;
    return status;
}

/* The same for c >= 0 by the paper's Algorithm 2; E is that of the last evaluation. */
static nadir_status evaluate_paper(const curve *self, double *F)
{
    nadir_cone_norm_settings settings;
    nadir_cone_norm_result result = {.size = sizeof result};
    nadir_cone_norm_settings_default(&settings);
    settings.order = "paper";
    const nadir_status status =
        nadir_cone_norm(self->run->context, STATES, STATES, self->E, &settings, NULL, &result);
    *F = self->beta * result.value;
    return status;
}

/* The penalty of the pair (beta x, y) of the last evaluation. */
static double penalty_of_pair(const curve *self)
{
    double reach = 0; /* d . W c */
    memset(self->g, 0, STATES * sizeof *self->g);
    for (int64_t t = 0; t < STATES; t++) {
        const double b = self->beta * self->W[t] * self->x[t];
        reach += self->d[t] * b;
        add(b, self->D + t * STATES, self->g);
    }
    return DISCOUNT * reach * dot(self->y, self->v) / (1 + DISCOUNT * dot(self->y, self->g));
}

/* ------------------------------------------------------------------------------------------- searches */

static bool is_near(const curve *self, double lambda)
{
    return fabs(lambda - self->exact) <= NEAR * self->exact;
}

static nadir_status search_newton(curve *self, double start, step *steps, int *count)
{
    nadir_status status = NADIR_OK;
    double lambda = start;
    for (*count = 0; *count < STEPS;) {
        step *one = &steps[(*count)++];
        one->lambda = lambda;
        NADIR_CHECK(evaluate(self, lambda, &one->F));
        if (is_near(self, lambda)) {
            break;
        }
        lambda = penalty_of_pair(self);
    }
cleanup:
    return status;
}

/* The paper's Algorithm 1 with the exact F. */
static nadir_status search_bisection(curve *self, step *steps, int *count)
{
    nadir_status status = NADIR_OK;
    double low = 0;
    double high = 1 / (1 - DISCOUNT);
    for (*count = 0; *count < STEPS;) {
        step *one = &steps[(*count)++];
        one->lambda = (low + high) / 2;
        NADIR_CHECK(evaluate(self, one->lambda, &one->F));
        if (one->F > one->lambda) {
            low = one->lambda;
        } else {
            high = one->lambda;
        }
        if (is_near(self, one->lambda)) {
            break;
        }
    }
cleanup:
    return status;
}

/* ---------------------------------------------------------------------------------------- data, picture */

static nadir_status write_curve(curve *self, experiment_csv *csv, FILE *script, bool near, bool *sides)
{
    nadir_status status = NADIR_OK;
    const double top = 1 / (1 - DISCOUNT);
    fprintf(script, "$%s << EOD\n", near ? "near" : "far");
    for (int i = 0; i < POINTS; i++) {
        const double share = (double)i / (POINTS - 1);
        const double lambda =
            near ? 2.5 * self->exact * share : self->exact / 20 * pow(20 * top / self->exact, share);
        double F;
        double paper;
        NADIR_CHECK(experiment_progress(self->run, "F(λ), β = %g", self->beta));
        NADIR_CHECK(evaluate(self, lambda, &F));
        NADIR_CHECK(evaluate_paper(self, &paper));
        *sides &= is_near(self, lambda) || (F > lambda) == (lambda < self->exact);
        if (paper < 0.999 * F) {
            self->separation = fmin(self->separation, lambda);
        }
        experiment_csv_text(csv, near ? "near" : "whole");
        experiment_csv_number(csv, lambda);
        experiment_csv_number(csv, F);
        experiment_csv_number(csv, paper);
        experiment_csv_end_row(csv);
        fprintf(script, "%.12g %.12g %.12g\n", lambda, F, paper);
    }
    fputs("EOD\n", script);
cleanup:
    return status;
}

static void write_steps(const curve *self, const char *search, const char *block, const step *steps,
                        int count, experiment_csv *csv, FILE *script)
{
    fprintf(script, "$%s << EOD\n", block);
    for (int i = 0; i < count; i++) {
        experiment_csv_text(csv, search);
        experiment_csv_integer(csv, i);
        experiment_csv_number(csv, steps[i].lambda);
        experiment_csv_number(csv, steps[i].F);
        experiment_csv_number(csv, fabs(steps[i].lambda / self->exact - 1));
        experiment_csv_end_row(csv);
        fprintf(script, "%.12g %.12g\n", steps[i].lambda, steps[i].F);
    }
    fputs("EOD\n", script);
}

/* What both panels and the legend plot, from data or, for the legend, from nothing. */
static void write_items(const experiment_plot *plot, const char *curve_data, const char *newton_data,
                        const char *bisection_data, double fixed_point)
{
    FILE *script = plot->script;
    fprintf(script, "plot %s using 1:1 with lines linewidth 1.5", curve_data);
    experiment_plot_line(plot, "reference");
    fprintf(script, "title 'diagonal: λ', %s using 1:3 with lines linewidth 8", curve_data);
    experiment_plot_line(plot, "paper");
    fprintf(script, "title 'F(λ) with b ≥ 0, Algorithm 2', %s using 1:2 with lines linewidth 2.5",
            curve_data);
    experiment_plot_line(plot, "newton");
    fprintf(script, "title 'F(λ), exact', %s using 1:2 with points linewidth 2 pointsize 1.1",
            bisection_data);
    experiment_plot_style(plot, "bisect");
    fprintf(script, "title 'steps of bisection (Algorithm 1)', %s using 1:2 with points pointsize 1.6",
            newton_data);
    experiment_plot_style(plot, "newton");
    fprintf(script,
            "title 'steps of Newton', %s using (%.12g):(%.12g) every ::0::0 with points pointtype 6 "
            "pointsize 2.8 linewidth 2.5 linecolor rgb '#000000' title 'fixed point λ*'\n",
            curve_data, fixed_point, fixed_point);
}

static void write_layout(const curve *self, experiment_plot *plot)
{
    FILE *script = plot->script;
    const double top = 1.2 / (1 - DISCOUNT);
    fprintf(script,
            "set multiplot title 'The penalty function F(λ), β = %g'\nunset key\nset xlabel 'λ (units of "
            "reward)'\nset ylabel 'F(λ) (units of "
            "reward)'\nset format '%%g'\n"
            "set lmargin at screen 0.1\nset rmargin at screen 0.475\n"
            "set tmargin at screen 0.87\nset bmargin at screen 0.31\n"
            "set title 'around the fixed point' offset 0,-0.5\n"
            "set xrange [0:%.6g]\nset yrange [0:%.6g]\nset xtics %.1g\nset ytics %.1g\n",
            self->beta, 2.5 * self->exact, 2.5 * self->exact, self->exact / 2, self->exact / 2);
    write_items(plot, "$near", "$below", "$bisection", self->exact);
    fprintf(script,
            "set title 'all of Algorithm 1: up to 1/(1 − γ), log scales' offset 0,-0.5\n"
            "set lmargin at screen 0.6\nset rmargin at screen 0.975\nset logscale\n"
            "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nset xtics auto\nset ytics auto\n",
            self->exact / 20, top, self->exact / 20, top);
    write_items(plot, "$far", "$above", "$bisection", self->exact);
    /* The legend: a plot of nothing below both. */
    fputs("unset title\nunset xlabel\nunset ylabel\nunset border\nunset tics\nunset logscale\n"
          "set lmargin at screen 0.03\nset rmargin at screen 0.97\nset tmargin at screen 0.15\n"
          "set bmargin at screen 0.01\nset xrange [1:2]\nset yrange [1:2]\n"
          "set key inside center center horizontal Left reverse samplen 2 maxrows 2\n"
          "$nothing << EOD\n0 0 0\n0 0 0\nEOD\n",
          script);
    write_items(plot, "$nothing", "$nothing", "$nothing", 0);
    fputs("unset multiplot\n", script);
}

static const char *const stems[] = {"penalty-function-beta-1-over-S", "penalty-function-beta-0.1"};

typedef struct searches {
    step below[STEPS], above[STEPS], bisection[STEPS];
    int below_count, above_count, bisection_count;
} searches;

static void tell(const curve *self, int which, const searches *found, bool sides)
{
    experiment_run *run = self->run;
    const double reached = fabs(found->below[1].lambda / self->exact - 1);
    run->data = experiment_text(run, "%s-steps", stems[which]);
    experiment_show(
        run, stems[which], which,
        "F is nearly flat where it meets the diagonal, at λ* = %.9g: one Newton step from λ = 0 is "
        "within %.1e of it, relatively. %d Newton steps from 0, %d from 1/(1 − γ) and %d of "
        "bisection reach it to 1e-12.",
        self->exact, reached, found->below_count - 1, found->above_count - 1, found->bisection_count);
    experiment_finding(
        run, experiment_text(run, "F(λ), S = 100, A = 10, β = %s", which == 0 ? "1/S" : "0.1"),
        "a curve; no numbers in the text",
        experiment_text(run,
                        "fixed point λ* = %.6g; F(0) = %.6g; Newton reaches it from 0 in %d steps to 1e-12, "
                        "bisection in %d; F(λ) > λ %s",
                        self->exact, found->below[0].F, found->below_count - 1, found->bisection_count,
                        sides ? "exactly when λ < λ*, at every point of both grids"
                              : "NOT exactly when λ < λ*"),
        isinf(self->separation)
            ? "The lemma prints F(λ) > λ if and only if λ > λ*, the wrong way round; its Algorithm 1 is "
              "right. "
              "The b ≥ 0 of the paper changes nothing here."
            : experiment_text(
                  run,
                  "The lemma prints F(λ) > λ if and only if λ > λ*, the wrong way round; its Algorithm 1 is "
                  "right. The b ≥ 0 of the paper lowers F by more than 0.1 %% only past λ = %.3g λ*.",
                  self->separation / self->exact));
}

static nadir_status write_searches(curve *self, int which, FILE *script, searches *found)
{
    nadir_status status = NADIR_OK;
    experiment_csv csv = {0};
    NADIR_CHECK(search_newton(self, 0, found->below, &found->below_count));
    NADIR_CHECK(search_newton(self, 1 / (1 - DISCOUNT), found->above, &found->above_count));
    NADIR_CHECK(search_bisection(self, found->bisection, &found->bisection_count));
    (void)experiment_csv_open(self->run, experiment_text(self->run, "%s-steps", stems[which]),
                              "search,step,lambda,F,relative_error", &csv);
    write_steps(self, "newton-from-0", "below", found->below, found->below_count, &csv, script);
    write_steps(self, "newton-from-top", "above", found->above, found->above_count, &csv, script);
    write_steps(self, "bisection", "bisection", found->bisection, found->bisection_count, &csv, script);
    status = experiment_csv_close(&csv);
cleanup:
    return status;
}

static nadir_status draw(curve *self, int which)
{
    nadir_status status = NADIR_OK;
    experiment_csv csv = {0};
    experiment_plot plot = {0};
    searches found = {0};
    bool sides = true;
    NADIR_CHECK(experiment_plot_open(self->run, stems[which], 1200, 640, &plot));
    (void)experiment_csv_open(self->run, stems[which], "grid,lambda,F_exact,F_algorithm_2", &csv);
    NADIR_CHECK(write_curve(self, &csv, plot.script, true, &sides));
    NADIR_CHECK(write_curve(self, &csv, plot.script, false, &sides));
    NADIR_CHECK(experiment_csv_close(&csv));
    NADIR_CHECK(write_searches(self, which, plot.script, &found));
    write_layout(self, &plot);
    NADIR_CHECK(experiment_plot_close(&plot));
    tell(self, which, &found, sides);
cleanup:
    experiment_csv_drop(&csv);
    experiment_plot_drop(&plot);
    return status;
}

/* -------------------------------------------------------------------------------------------- the run */

/* D written out, W, v and d of the solver. */
static nadir_status prepare(curve *self, nadir_solver *solver, const nadir_policy *policy)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->run->context;
    const double *chances = nadir_policy_probabilities(policy);
    NADIR_NEW_ZERO(context, self->D, STATES * STATES);
    NADIR_NEW(context, self->E, STATES * STATES);
    NADIR_NEW(context, self->x, STATES);
    NADIR_NEW(context, self->y, STATES);
    NADIR_NEW(context, self->g, STATES);
    NADIR_NEW(context, self->W, STATES);
    for (int64_t s = 0; s < STATES; s++) {
        double squares = 0;
        for (int64_t a = 0; a < ACTIONS; a++) {
            squares += chances[s * ACTIONS + a] * chances[s * ACTIONS + a];
        }
        self->W[s] = sqrt(squares);
        self->D[s * STATES + s] = 1;
    }
    NADIR_CHECK(nadir_solver_solve(context, solver));
    NADIR_CHECK(nadir_occupancy_solve(context, solver->occupancy, STATES, self->D, self->D, NULL));
    self->v = solver->value.v;
    self->d = solver->value.d;
cleanup:
    return status;
}

static nadir_status run_radius(curve *self, nadir_solver *solver, int which)
{
    nadir_robust exact = {.size = sizeof exact};
    nadir_robust_settings settings;
    nadir_ball ball;
    nadir_ball_default(&ball);
    nadir_robust_settings_default(&settings);
    settings.tolerance = 1e-14;
    self->beta = which == 0 ? 1.0 / STATES : 0.1;
    self->separation = INFINITY;
    ball.domain = NADIR_DOMAIN_FREE;
    ball.radius = &self->beta;
    ball.radius_count = 1;
    nadir_random_seed(&self->random, self->run->seed);
    const nadir_status status =
        nadir_solver_robust(self->run->context, solver, &ball, &settings, &exact, NULL);
    self->exact = exact.penalty;
    return status == NADIR_OK ? draw(self, which) : status;
}

static nadir_status run(experiment_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    curve self = {.run = run};
    NADIR_CHECK(experiment_setting(run, STATES, ACTIONS, DISCOUNT, run->seed, &model, &policy));
    NADIR_CHECK(nadir_solver_create(run->context, model, policy, NULL, &solver));
    NADIR_CHECK(prepare(&self, solver, policy));
    for (int which = 0; which < 2; which++) {
        NADIR_CHECK(run_radius(&self, solver, which));
    }
cleanup:
    nadir_release(run->context, self.D);
    nadir_release(run->context, self.E);
    nadir_release(run->context, self.x);
    nadir_release(run->context, self.y);
    nadir_release(run->context, self.g);
    nadir_release(run->context, self.W);
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

static const experiment_source sources[] = {
    {"Figure 19, appendix", "Robust Penalty Function F(λ) vs λ for S = 100, a = 10, β = 1/S",
     "The function whose fixed point is the penalty λ* = J − J_U, drawn for one random instance."},
    {"Figure 20, appendix", "Robust Penalty Function F(λ) vs λ for S = 100, a = 10, β = 0.1",
     "The same for a ball ten times as large."},
    {0},
};

const experiment experiment_penalty_function = {
    .name = "penalty-function",
    .title = "The penalty function F(λ)",
    .about =
        "One random instance as in the paper's experiments (rows of P uniform and normalised, R normal, a "
        "random policy, μ uniform), S = 100, A = 10, γ = 0.9, L2 ball, free domain. F is drawn exactly (b of "
        "any "
        "sign: β times the largest singular value of E_λ) and as the paper computes it (b ≥ 0, "
        "Algorithm 2). Newton's step from λ is the penalty of the kernel that attains F(λ). Quick and full "
        "settings are the same.",
    .sources = sources,
    .run = run,
};
