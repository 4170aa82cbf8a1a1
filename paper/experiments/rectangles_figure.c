/*
 * rectangles_figure.c: the experiment `rectangular-sets`: the penalty of rectangular sets, at the same radius
 * and at the same probability of containing the kernel.
 */
#include "rectangles_figure.h"

#include <math.h>

static const experiment_source sources[] = {
    {"Figure 1, section Method", "Modeling Uncertainty with Non-Rectangular and Rectangular L_2-Balls.",
     "A picture of a circle in a square and a ball in a cube, with possible environments as dots. The text "
     "concludes that non-rectangular robust MDPs are less conservative."},
    {"Figure 2, section Method",
     "Illustration of Proposition: N-dimensional sphere can be written as infinite union of n-dimenssional "
     "inscribing cubes.",
     "A picture; the text speaks of an inscribed square and a continuum of its rotated versions."},
    {0},
};

enum {
    STATES = 10,
    ACTIONS = 4,
    ROWS = STATES * ACTIONS,
    DRAWN = 40, /* transitions of each row, and one more to each successor */
    SEEN = DRAWN + STATES,
    POLICIES = 2,
    MOST_TIMES = 6,
    RADII = 13,
    CURVES = 5 /* nonrect, s, sa around the ball, s and sa inside it */
};

static const char *const policy_names[POLICIES] = {"random policy", "nominal optimum"};
static const nadir_set curve_sets[CURVES] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA, NADIR_SET_S,
                                             NADIR_SET_SA};
static const char *const curve_names[CURVES] = {"ball", "around", "around", "inside", "inside"};

typedef struct confidence {
    double radii[RECTANGLES_SETS];
    double penalties[POLICIES][RECTANGLES_SETS];
    double sampled[POLICIES]; /* J less the 5 % quantile of the return itself */
} confidence;

typedef struct rectangles_run {
    int32_t counts[ROWS * STATES];
    nadir_model *model;
    nadir_policy *policies[POLICIES];
    nadir_solver *solvers[POLICIES];
    double nominal[POLICIES];
    double penalties[POLICIES][CURVES][RADII];
    int64_t samples;
    int times_count;
    confidence confidences[MOST_TIMES];
    rectangles_picture plane, space;
} rectangles_run;

/* ----------------------------------------------------------------------------------------------- model */

/* Every successor once, and DRAWN draws from the row of the random model. */
static void count_transitions(const nadir_model_data *truth, uint64_t seed, int32_t counts[ROWS * STATES])
{
    nadir_random random;
    nadir_random_seed(&random, seed);
    for (int row = 0; row < ROWS; row++) {
        for (int t = 0; t < STATES; t++) {
            counts[row * STATES + t] = 1;
        }
        for (int k = 0; k < DRAWN; k++) {
            double left = nadir_random_uniform(&random);
            int t = 0;
            while (t < STATES - 1 && left >= truth->dense[row * STATES + t]) {
                left -= truth->dense[row * STATES + t++];
            }
            counts[row * STATES + t]++;
        }
    }
}

static nadir_status make_model(experiment_run *run, rectangles_run *self)
{
    nadir_status status = NADIR_OK;
    nadir_model *truth = NULL;
    nadir_policy *drawn = NULL;
    double dense[ROWS * STATES];
    nadir_model_data data;
    nadir_optimum_result optimum = {.size = sizeof optimum};
    NADIR_CHECK(experiment_setting(run, STATES, ACTIONS, 0.9, run->seed, &truth, &drawn));
    nadir_model_data_default(&data);
    nadir_model_view(truth, &data);
    count_transitions(&data, run->seed, self->counts);
    for (int i = 0; i < ROWS * STATES; i++) {
        dense[i] = (double)self->counts[i] / SEEN;
    }
    data.dense = dense;
    NADIR_CHECK(nadir_model_create(run->context, &data, &self->model));
    NADIR_CHECK(nadir_policy_create(run->context, self->model, nadir_policy_probabilities(drawn),
                                    &self->policies[0]));
    NADIR_CHECK(nadir_optimum(run->context, self->model, NULL, &self->policies[1], &optimum));
    for (int i = 0; i < POLICIES; i++) {
        nadir_nominal nominal = {.size = sizeof nominal};
        NADIR_CHECK(
            nadir_solver_create(run->context, self->model, self->policies[i], NULL, &self->solvers[i]));
        NADIR_CHECK(nadir_solver_nominal(run->context, self->solvers[i], &nominal));
        self->nominal[i] = nominal.nominal_return;
    }
cleanup:
    nadir_policy_free(drawn);
    nadir_model_free(truth);
    return status;
}

/* Penalties of a set, domain simplex, at radii `radius` times the factors. */
static nadir_status find_penalties(experiment_run *run, nadir_solver *solver, nadir_set set, double radius,
                                   int count, const double *factors, double *penalties)
{
    nadir_robust results[RADII];
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = set;
    ball.domain = NADIR_DOMAIN_SIMPLEX;
    ball.norm = 2;
    ball.radius = &radius;
    ball.radius_count = 1;
    for (int i = 0; i < count; i++) {
        results[i] = (nadir_robust){.size = sizeof results[i]};
    }
    const nadir_status status =
        nadir_solver_robust_many(run->context, solver, &ball, NULL, count, factors, results);
    for (int i = 0; i < count; i++) {
        penalties[i] = results[i].penalty;
    }
    return status;
}

/* --------------------------------------------------------------------------------------- equal radii */

/* 0.01 to 1, six to a factor of ten. */
static double radius_at(int i)
{
    return pow(10, -2 + i / 6.0);
}

static nadir_status compare_radii(experiment_run *run, rectangles_run *self)
{
    static const double shrink[CURVES] = {1, 1, 1, STATES, ROWS};
    double radii[RADII];
    experiment_csv csv;
    for (int i = 0; i < RADII; i++) {
        radii[i] = radius_at(i);
    }
    for (int p = 0; p < POLICIES; p++) {
        for (int c = 0; c < CURVES; c++) {
            const nadir_status status =
                find_penalties(run, self->solvers[p], curve_sets[c], 1 / sqrt(shrink[c]), RADII, radii,
                               self->penalties[p][c]);
            if (status != NADIR_OK) {
                return status;
            }
        }
    }
    (void)experiment_csv_open(run, "radii", "policy,ball_radius,set,relation,radius,nominal_return,penalty",
                              &csv);
    for (int p = 0; p < POLICIES; p++) {
        for (int i = 0; i < RADII; i++) {
            for (int c = 0; c < CURVES; c++) {
                experiment_csv_text(&csv, policy_names[p]);
                experiment_csv_number(&csv, radii[i]);
                experiment_csv_text(&csv, nadir_set_name(curve_sets[c]));
                experiment_csv_text(&csv, curve_names[c]);
                experiment_csv_number(&csv, radii[i] / sqrt(shrink[c]));
                experiment_csv_number(&csv, self->nominal[p]);
                experiment_csv_number(&csv, self->penalties[p][c][i]);
                experiment_csv_end_row(&csv);
            }
        }
    }
    return experiment_csv_close(&csv);
}

static nadir_status draw_radii(experiment_run *run, const rectangles_run *self)
{
    experiment_plot plot;
    const nadir_status status = experiment_plot_open(run, "radii", 1200, 640, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    for (int p = 0; p < POLICIES; p++) {
        fprintf(plot.script, "$policy%d << EOD\n", p);
        for (int i = 0; i < RADII; i++) {
            fprintf(plot.script, "%.9g", radius_at(i));
            for (int c = 0; c < CURVES; c++) {
                fprintf(plot.script, " %.9g", self->penalties[p][c][i]);
            }
            fputs("\n", plot.script);
        }
        fputs("EOD\n", plot.script);
    }
    fputs("set multiplot layout 1,2 margins 0.09,0.985,0.28,0.85 spacing 0.08,0 title 'What the worst case "
          "costs: sets around and inside the ball'\nset logscale xy\n"
          "set format xy '%g'\nset grid xtics ytics\n"
          "set xlabel 'radius β of the ball (L₂ distance of kernels)'\nset xrange [0.009:1.1]\n",
          plot.script);
    for (int p = 0; p < POLICIES; p++) {
        fprintf(plot.script,
                "set title '%s (nominal return %.2f)'\nset ylabel '%s' offset 1,0\n"
                "set key at screen 0.53,0.0 center bottom maxrows 2 width 1\n%s",
                policy_names[p], self->nominal[p], p == 0 ? "penalty J − J_U (reward)" : "",
                p == 0 ? "" : "unset key\n");
        for (int i = 0; i < CURVES; i++) {
            static const int order[CURVES] = {0, 2, 1, 4, 3}; /* s over sa, which it may cover */
            static const char *const marks[CURVES] = {"1", "1", "1.7", "0", "0"};
            const int c = order[i];
            const cli_style *style = cli_style_find(nadir_set_name(curve_sets[c]));
            fprintf(plot.script,
                    "%s $policy%d using 1:%d with linespoints linewidth 2 pointsize %s pointtype %d "
                    "linecolor rgb '%s' dashtype %d title '%s%s'",
                    i == 0 ? "plot" : ",", p, c + 2, marks[c], style->point, style->colour, c < 3 ? 1 : 3,
                    style->label,
                    c == 0  ? ""
                    : c < 3 ? " around it"
                            : " inside it");
        }
        fputs("\n", plot.script);
    }
    fputs("unset multiplot\n", plot.script);
    return experiment_plot_close(&plot);
}

/* ---------------------------------------------------------------------------------- equal confidence */

static nadir_status find_confidence(experiment_run *run, rectangles_run *self, int k)
{
    static const int64_t state_rows[STATES + 1] = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40};
    nadir_status status = NADIR_OK;
    confidence *found = &self->confidences[k];
    double *distances = NULL;
    double *returns = NULL;
    const double one = 1;
    nadir_model_data data;
    nadir_model_data_default(&data);
    nadir_model_view(self->model, &data);
    const double *probabilities[POLICIES] = {nadir_policy_probabilities(self->policies[0]),
                                             nadir_policy_probabilities(self->policies[1])};
    const rectangles_data known = {.states = STATES,
                                   .rows = ROWS,
                                   .state_rows = state_rows,
                                   .counts = self->counts,
                                   .times = 1 << k,
                                   .discount = data.discount,
                                   .rewards = data.rewards,
                                   .policies_count = POLICIES,
                                   .policies = probabilities};
    NADIR_NEW(run->context, distances, RECTANGLES_SETS * self->samples);
    NADIR_NEW(run->context, returns, POLICIES * self->samples);
    NADIR_CHECK(rectangles_sample(run->context, &known, run->seed + (uint64_t)k + 1, self->samples, distances,
                                  returns));
    for (int i = 0; i < RECTANGLES_SETS; i++) {
        found->radii[i] =
            rectangles_quantile(distances + i * self->samples, self->samples, RECTANGLES_CONFIDENCE);
    }
    for (int p = 0; p < POLICIES; p++) {
        found->sampled[p] = self->nominal[p] - rectangles_quantile(returns + p * self->samples, self->samples,
                                                                   1 - RECTANGLES_CONFIDENCE);
        for (int i = 0; i < RECTANGLES_SETS; i++) {
            NADIR_CHECK(find_penalties(run, self->solvers[p], rectangles_sets[i], found->radii[i], 1, &one,
                                       &found->penalties[p][i]));
        }
    }
cleanup:
    nadir_release(run->context, returns);
    nadir_release(run->context, distances);
    return status;
}

static nadir_status compare_confidence(experiment_run *run, rectangles_run *self)
{
    experiment_csv csv;
    for (int k = 0; k < self->times_count; k++) {
        nadir_status status = experiment_progress(run, "%d observations of each row", SEEN << k);
        status = status == NADIR_OK ? find_confidence(run, self, k) : status;
        if (status != NADIR_OK) {
            return status;
        }
    }
    (void)experiment_csv_open(run, "confidence",
                              "policy,observations,samples,set,radius,nominal_return,penalty,"
                              "penalty_of_5_percent_quantile",
                              &csv);
    for (int p = 0; p < POLICIES; p++) {
        for (int k = 0; k < self->times_count; k++) {
            for (int i = 0; i < RECTANGLES_SETS; i++) {
                experiment_csv_text(&csv, policy_names[p]);
                experiment_csv_integer(&csv, SEEN << k);
                experiment_csv_integer(&csv, self->samples);
                experiment_csv_text(&csv, nadir_set_name(rectangles_sets[i]));
                experiment_csv_number(&csv, self->confidences[k].radii[i]);
                experiment_csv_number(&csv, self->nominal[p]);
                experiment_csv_number(&csv, self->confidences[k].penalties[p][i]);
                experiment_csv_number(&csv, self->confidences[k].sampled[p]);
                experiment_csv_end_row(&csv);
            }
        }
    }
    return experiment_csv_close(&csv);
}

/* The smallest number of the picture. */
static double least_sampled(const rectangles_run *self)
{
    double least = INFINITY;
    for (int p = 0; p < POLICIES; p++) {
        for (int k = 0; k < self->times_count; k++) {
            least = fmin(least, self->confidences[k].sampled[p]);
        }
    }
    return least;
}

static nadir_status draw_confidence(experiment_run *run, const rectangles_run *self)
{
    experiment_plot plot;
    const nadir_status status = experiment_plot_open(run, "confidence", 1200, 620, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    for (int p = 0; p < POLICIES; p++) {
        fprintf(plot.script, "$policy%d << EOD\n", p);
        for (int k = 0; k < self->times_count; k++) {
            const confidence *found = &self->confidences[k];
            fprintf(plot.script, "%d %.9g %.9g %.9g %.9g\n", SEEN << k, found->penalties[p][0],
                    found->penalties[p][1], found->penalties[p][2], found->sampled[p]);
        }
        fputs("EOD\n", plot.script);
    }
    fprintf(plot.script,
            "set multiplot layout 1,2 margins 0.095,0.985,0.255,0.85 spacing 0.08,0 title 'What the worst "
            "case costs: sets that hold the true kernel with the same chance'\nset logscale xy\n"
            "set format xy '%%g'\nset grid xtics ytics\nset xlabel 'observations of each row'\n"
            "set xtics (50,100,200,400,800,1600)\nset xrange [45:%d]\nset yrange [%.3g:10]\n",
            (SEEN << self->times_count) * 11 / 20, 0.5 * least_sampled(self));
    for (int p = 0; p < POLICIES; p++) {
        fprintf(plot.script,
                "set title '%s (nominal return %.2f)'\nset ylabel '%s' offset 0.2,0\n"
                "set key at screen 0.53,0.0 center bottom maxrows 2\n%s",
                policy_names[p], self->nominal[p], p == 0 ? "penalty J − J_U (reward)" : "",
                p == 0 ? "" : "unset key\n");
        for (int i = 0; i < RECTANGLES_SETS; i++) {
            fprintf(plot.script, "%s $policy%d using 1:%d with linespoints linewidth 2 ",
                    i == 0 ? "plot" : ",", p, i + 2);
            experiment_plot_style(&plot, nadir_set_name(rectangles_sets[i]));
            experiment_plot_title(&plot, nadir_set_name(rectangles_sets[i]));
        }
        fprintf(plot.script,
                ", $policy%d using 1:5 with linespoints linewidth 2 dashtype 2 pointtype 1 linecolor rgb "
                "'%s' title '5 %% quantile of the return itself'\n",
                p, cli_style_find("reference")->colour);
    }
    fputs("unset multiplot\n", plot.script);
    return experiment_plot_close(&plot);
}

/* ---------------------------------------------------------------------------------------------- report */

static void tell_balls(experiment_run *run, const rectangles_run *self)
{
    experiment_show(run, "balls-plane", 0,
                    "Two states, one action: a kernel is a point, its distances from the nominal one the "
                    "axes. Dots are kernels that 40 observations of each row allow; the ball holds 95 %% of "
                    "them, the smallest rectangular set around it %.1f %%, and its worst kernel is a corner.",
                    100 * self->plane.held[2]);
    experiment_show(run, "balls-space", 0,
                    "Two actions in state 0, one in state 1: the ball, the smallest s-rectangular set around "
                    "it (a cylinder) and the smallest sa-rectangular one (a cube).");
    experiment_show(run, "balls-union", 1,
                    "Nine of the rectangles with sides 2b, ‖b‖ = β. They are not rotated: their sides stay "
                    "parallel to the axes and change their lengths.");
}

/* Over all numbers of observations: a rectangular set over the ball, or the ball over the quantile itself. */
static void print_ratios(const rectangles_run *self, int p, int set, char text[32])
{
    double least = INFINITY;
    double most = 0;
    for (int k = 0; k < self->times_count; k++) {
        const confidence *found = &self->confidences[k];
        const double ball = found->penalties[p][0];
        const double ratio = set == 0 ? ball / found->sampled[p] : found->penalties[p][set] / ball;
        least = fmin(least, ratio);
        most = fmax(most, ratio);
    }
    (void)snprintf(text, 32, set == 0 ? "%.0f to %.0f" : "%.2f to %.2f", least, most);
}

static void tell(experiment_run *run, const rectangles_run *self)
{
    enum { MIDDLE = 6 }; /* radius 0.1 */
    char ratios[POLICIES][RECTANGLES_SETS][32];
    for (int p = 0; p < POLICIES; p++) {
        for (int i = 0; i < RECTANGLES_SETS; i++) {
            print_ratios(self, p, i, ratios[p][i]);
        }
    }
    tell_balls(run, self);
    experiment_show(
        run, "radii", -1,
        "Equal radii. S = %d, A = %d, γ = 0.9, domain simplex. Full lines: the ball, and the "
        "smallest rectangular sets around it; dotted: the largest inside it. Under a deterministic "
        "policy the s- and the sa-rectangular set around it cost the same.",
        STATES, ACTIONS);
    experiment_show(run, "confidence", -1,
                    "Equal confidence: each set holds the kernel with 95 %% chance, given the data. Grey: "
                    "what a loss of that chance would really be.");
    experiment_table(run, "Penalty at equal confidence (95 %)",
                     "policy|observations|non-rectangular|s-rectangular|sa-rectangular|5 % quantile itself");
    for (int p = 0; p < POLICIES; p++) {
        for (int k = 0; k < self->times_count; k++) {
            const confidence *found = &self->confidences[k];
            experiment_table_row(run, "%s|%d|%.4g|%.4g|%.4g|%.4g", policy_names[p], SEEN << k,
                                 found->penalties[p][0], found->penalties[p][1], found->penalties[p][2],
                                 found->sampled[p]);
        }
    }
    experiment_table_end(run);
    experiment_finding(run, "The ball as a union of rectangles",
                       "an inscribed square and a continuum of its rotated versions",
                       "rectangles of all sides 2b with ‖b‖ = β, none of them rotated",
                       "A slip of the text; the proposition is right.");
    experiment_finding(
        run, "Are rectangular sets more conservative? Equal radii", "Yes; by volumes and a picture",
        experiment_text(run,
                        "Yes: at β = 0.1 the sa-rectangular set costs %.1f times what the ball costs "
                        "(random policy) and %.1f times (nominal optimum); s-rectangular %.1f and %.1f",
                        self->penalties[0][2][MIDDLE] / self->penalties[0][0][MIDDLE],
                        self->penalties[1][2][MIDDLE] / self->penalties[1][0][MIDDLE],
                        self->penalties[0][1][MIDDLE] / self->penalties[0][0][MIDDLE],
                        self->penalties[1][1][MIDDLE] / self->penalties[1][0][MIDDLE]),
        "Agrees, as it must: the sets contain the ball.");
    experiment_finding(
        run, "Are rectangular sets more conservative? Equal chance of holding the kernel", "Not measured",
        experiment_text(run,
                        "sa-rectangular over ball: %s (random policy), %s (nominal optimum); s-rectangular "
                        "over ball: %s and %s; the ball over what the 5 %% quantile of the return loses: %s "
                        "and %s",
                        ratios[0][2], ratios[1][2], ratios[0][1], ratios[1][1], ratios[0][0], ratios[1][0]),
        "Above 1 the ball is less conservative. It depends on the policy: a deterministic one uses a quarter "
        "of the rows, and the ball may spend on them the radius that all rows together were given.");
}

static nadir_status run_rectangles(experiment_run *run)
{
    nadir_status status = NADIR_OK;
    rectangles_run *self = NULL;
    NADIR_NEW_ZERO(run->context, self, 1);
    self->samples = run->quick ? 400 : 4000;
    self->times_count = run->quick ? 4 : MOST_TIMES;
    NADIR_CHECK(make_model(run, self));
    NADIR_CHECK(experiment_progress(run, "pictures of the sets"));
    NADIR_CHECK(rectangles_draw_plane(run, &self->plane));
    NADIR_CHECK(rectangles_draw_space(run, &self->space));
    NADIR_CHECK(rectangles_draw_union(run));
    NADIR_CHECK(experiment_progress(run, "equal radii"));
    NADIR_CHECK(compare_radii(run, self));
    NADIR_CHECK(draw_radii(run, self));
    NADIR_CHECK(compare_confidence(run, self));
    NADIR_CHECK(draw_confidence(run, self));
    tell(run, self);
cleanup:
    for (int p = 0; self != NULL && p < POLICIES; p++) {
        nadir_solver_free(self->solvers[p]);
        nadir_policy_free(self->policies[p]);
    }
    nadir_model_free(self != NULL ? self->model : NULL);
    nadir_release(run->context, self);
    return status;
}

const experiment experiment_rectangular_sets = {
    .name = "rectangular-sets",
    .title = "Rectangular against non-rectangular sets",
    .about =
        "The sets as pictures, where kernels have two or three dimensions. Then a model of S = 10, A = 4, "
        "γ = 0.9, made from 50 observations of each row of one of the paper's random models, domain "
        "simplex, under a random policy and under the nominal optimum: what the adversary takes (a) with "
        "the same radius for all sets, and with the largest rectangular sets inside the ball; (b) with "
        "radii such that each set holds the kernel with 95 % chance when every row was seen 50, 100, … "
        "times: quantiles over 4 000 kernels (quick: 400) of the Dirichlet distribution that the "
        "observations give.",
    .sources = sources,
    .run = run_rectangles,
};
