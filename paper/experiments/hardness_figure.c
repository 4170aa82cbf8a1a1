/* hardness_figure.c: the experiment `hardness`: integer programs as robust Markov decision processes. */
#include "experiment.h"
#include "hardness.h"

#include <math.h>

static const experiment_source sources[] = {
    {"Figure 6, appendix", "MDP P_ξ, and R (Figure 5 of [RVI]).",
     "The reduction of a 0/1 integer program to a robust MDP with states b_j, b⁰_j, b¹_j, c_0, τ, one action "
     "and the set {P_ξ : F ξ ≤ g}; transitions and rewards stand in the figure alone."},
    {"Appendix, NP-Hardness of non-rectangular RMDP, Solution",
     "If g>0 then compute the sum of g smallest coordinate of c, and this sum is less/equal than ζ then "
     "answer "
     "is yes, otherwise no.",
     "With the one constraint 1.x ≤ g, all that an L_1 ball can say, the program is solved in closed form."},
    {0},
};

enum { KINDS = 3, MOST_PROGRAMS = 200, ITEMS = 10, SIZES = 3 };

#define DISCOUNT 0.9

/* Programs of m constraints and n items. */
typedef struct reduction {
    int n, m;
    int64_t programs, yes, agree, vertices;
    double formula_error; /* of the return, relative, at most */
    double fraction;      /* distance of the worst xi from whole numbers in programs of answer yes, at most */
} reduction;

typedef struct one_constraint {
    int64_t programs, closed, printed, ladder, ball; /* agree with the enumeration */
    double ball_error;                               /* of the least c.x, at most */
} one_constraint;

typedef struct large_case {
    int n, g;
    int64_t closed;
    double ball, seconds;
} large_case;

typedef struct hardness_run {
    int64_t programs;
    reduction kinds[KINDS];
    one_constraint one;
    large_case large[SIZES];
    double printed_least[MOST_PROGRAMS], ball_least[MOST_PROGRAMS], least[MOST_PROGRAMS];
} hardness_run;

/* ------------------------------------------------------------------------------------------ reduction */

static nadir_status try_program(experiment_run *run, const hardness_program *program, experiment_csv *csv,
                                reduction *sums)
{
    hardness_ladder ladder;
    hardness_answer answer;
    int least = 0;
    const bool feasible = hardness_enumerate(program, &least);
    const bool yes = feasible && least <= program->zeta;
    hardness_ladder_make(program, DISCOUNT, &ladder);
    const nadir_status status = hardness_solve(run->context, program, &ladder, &answer);
    if (status != NADIR_OK) {
        return status;
    }
    double fraction = 0;
    for (int j = 0; j < program->n; j++) {
        fraction = fmax(fraction, fabs(answer.xi[j] - round(answer.xi[j])));
    }
    sums->programs++;
    sums->yes += yes;
    sums->agree += answer.yes == yes;
    sums->vertices += answer.vertices;
    sums->formula_error = fmax(sums->formula_error, answer.formula_error);
    sums->fraction = fmax(sums->fraction, yes ? fraction : 0);
    experiment_csv_integer(csv, program->n);
    experiment_csv_integer(csv, program->m);
    experiment_csv_integer(csv, ladder.states);
    experiment_csv_integer(csv, program->zeta);
    experiment_csv_number(csv, feasible ? (double)least : NAN);
    experiment_csv_integer(csv, yes);
    experiment_csv_integer(csv, answer.vertices);
    experiment_csv_number(csv, answer.vertices > 0 ? answer.least : NAN);
    experiment_csv_integer(csv, answer.yes);
    experiment_csv_number(csv, fraction);
    experiment_csv_number(csv, ladder.big);
    experiment_csv_end_row(csv);
    return NADIR_OK;
}

static nadir_status try_reductions(experiment_run *run, hardness_run *self)
{
    static const int sizes[KINDS][2] = {{6, 1}, {5, 2}, {4, 3}};
    nadir_status status = NADIR_OK;
    experiment_csv csv;
    (void)experiment_csv_open(run, "reduction",
                              "n,m,states,zeta,enumerated_least,enumerated_yes,vertices,robust_least,"
                              "robust_yes,distance_from_whole,M",
                              &csv);
    for (int k = 0; k < KINDS && status == NADIR_OK; k++) {
        nadir_random random;
        nadir_random_seed(&random, run->seed + (uint64_t)k);
        self->kinds[k] = (reduction){.n = sizes[k][0], .m = sizes[k][1]};
        status = experiment_progress(run, "integer programs with %d constraints", sizes[k][1]);
        for (int64_t i = 0; i < self->programs && status == NADIR_OK; i++) {
            hardness_program program;
            hardness_draw(&random, sizes[k][0], sizes[k][1], 4, &program);
            status = try_program(run, &program, &csv, &self->kinds[k]);
        }
    }
    const nadir_status closed = experiment_csv_close(&csv);
    return status != NADIR_OK ? status : closed;
}

/* ------------------------------------------------------------------------------------ one constraint */

/* c, g and zeta of a program with the one constraint 1.x <= g. */
static void draw_one(nadir_random *random, int n, hardness_program *program)
{
    hardness_draw(random, n, 1, 9, program);
    for (int j = 0; j < n; j++) {
        program->F[0][j] = 1;
    }
    program->g[0] = (int)nadir_random_below(random, (uint64_t)n + 2) - 1;
}

static nadir_status try_one(experiment_run *run, const hardness_program *program, experiment_csv *csv,
                            hardness_run *self)
{
    const int g = program->g[0];
    const int64_t i = self->one.programs++;
    int least = 0;
    int64_t closed = 0;
    double ball = NAN;
    hardness_ladder ladder;
    hardness_answer answer;
    const bool feasible = hardness_enumerate(program, &least);
    const bool yes = feasible && least <= program->zeta;
    const bool closed_feasible = hardness_closed_form(program->n, program->c, g, &closed);
    const bool printed = hardness_printed_rule(program->n, program->c, g, program->zeta);
    hardness_ladder_make(program, DISCOUNT, &ladder);
    nadir_status status = hardness_solve(run->context, program, &ladder, &answer);
    if (status == NADIR_OK && g >= 0) {
        status = hardness_ball(run->context, program->n, program->c, g, &ball);
    }
    self->one.closed += closed_feasible == feasible && (!feasible || closed == least);
    self->one.printed += printed == yes;
    self->one.ladder += answer.yes == yes;
    self->one.ball += feasible ? fabs(ball - least) < 0.01 : g < 0;
    self->one.ball_error = feasible ? fmax(self->one.ball_error, fabs(ball - least)) : self->one.ball_error;
    self->least[i] = feasible ? (double)least : NAN;
    self->ball_least[i] = ball;
    self->printed_least[i] = printed == yes ? NAN : self->least[i];
    experiment_csv_integer(csv, program->n);
    experiment_csv_integer(csv, g);
    experiment_csv_integer(csv, program->zeta);
    experiment_csv_number(csv, self->least[i]);
    experiment_csv_number(csv, closed_feasible ? (double)closed : NAN);
    experiment_csv_number(csv, ball);
    experiment_csv_integer(csv, yes);
    experiment_csv_integer(csv, answer.yes);
    experiment_csv_integer(csv, printed);
    experiment_csv_end_row(csv);
    return status;
}

static nadir_status try_one_constraint(experiment_run *run, hardness_run *self)
{
    experiment_csv csv;
    nadir_random random;
    nadir_random_seed(&random, run->seed + KINDS);
    nadir_status status = experiment_progress(run, "one constraint");
    (void)experiment_csv_open(run, "one-constraint",
                              "n,g,zeta,enumerated_least,closed_least,ball_least,enumerated_yes,robust_yes,"
                              "printed_yes",
                              &csv);
    for (int64_t i = 0; i < self->programs && status == NADIR_OK; i++) {
        hardness_program program;
        draw_one(&random, 3 + (int)(i % 5), &program);
        status = try_one(run, &program, &csv, self);
    }
    const nadir_status closed = experiment_csv_close(&csv);
    return status != NADIR_OK ? status : closed;
}

/* Past enumeration: the ball and the closed form alone. */
static nadir_status try_large(experiment_run *run, hardness_run *self)
{
    static const int sizes[SIZES] = {30, 100, 300};
    experiment_csv csv;
    nadir_status status = NADIR_OK;
    (void)experiment_csv_open(run, "large", "n,g,closed_least,ball_least,seconds_ball", &csv);
    for (int k = 0; k < SIZES && status == NADIR_OK; k++) {
        int c[300];
        nadir_random random;
        nadir_random_seed(&random, run->seed + (uint64_t)sizes[k]);
        large_case *found = &self->large[k];
        *found = (large_case){.n = sizes[k], .g = sizes[k] / 5};
        for (int j = 0; j < found->n; j++) {
            c[j] = (int)nadir_random_below(&random, 201) - 100;
        }
        (void)hardness_closed_form(found->n, c, found->g, &found->closed);
        const double start = nadir_clock_seconds();
        status = hardness_ball(run->context, found->n, c, found->g, &found->ball);
        found->seconds = nadir_clock_seconds() - start;
        experiment_csv_integer(&csv, found->n);
        experiment_csv_integer(&csv, found->g);
        experiment_csv_integer(&csv, found->closed);
        experiment_csv_number(&csv, found->ball);
        experiment_csv_number(&csv, found->seconds);
        experiment_csv_end_row(&csv);
    }
    const nadir_status closed = experiment_csv_close(&csv);
    return status != NADIR_OK ? status : closed;
}

/* ------------------------------------------------------------------------------------------- pictures */

/* A state of the ladder: a circle with its name, and what it pays below. */
static void draw_state(FILE *script, int object, double x, double y, const char *name, const char *pays)
{
    fprintf(script,
            "set object %d circle at %g,%g size 0.32 front fillcolor rgb 'white' fillstyle solid border "
            "linecolor rgb 'black' linewidth 2\n"
            "set label '%s' at %g,%g center front\nset label '%s' at %g,%g center front textcolor rgb "
            "'#0072b2' font ',13'\n",
            object, x, y, name, x, y, pays, x, y - 0.5);
}

static void draw_arrow(FILE *script, double x, double y, double to_x, double to_y, const char *chance)
{
    const double length = hypot(to_x - x, to_y - y);
    const double cut = 0.36 / length;
    fprintf(script,
            "set arrow from %g,%g to %g,%g linewidth 2 linecolor rgb '#444444' filled size 0.16,20\n"
            "set label '%s' at %g,%g center textcolor rgb '#d55e00' font ',14'\n",
            x + cut * (to_x - x), y + cut * (to_y - y), to_x - cut * (to_x - x), to_y - cut * (to_y - y),
            chance, x + 0.5 * (to_x - x) + 0.34 * (to_y - y) / length,
            y + 0.5 * (to_y - y) - 0.3 * (to_x - x) / length + 0.02);
}

static nadir_status draw_ladder(experiment_run *run)
{
    experiment_plot plot;
    const nadir_status status = experiment_plot_open(run, "ladder", 1000, 600, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fputs("unset border\nunset tics\nunset key\nunset grid\nset size ratio -1\nset xrange [-0.6:9.2]\n"
          "set yrange [-2.6:2.7]\nset lmargin 0\nset rmargin 0\nset tmargin 3\nset bmargin 0\n"
          "set title 'An integer program as a robust model: orange are chances, blue are rewards'\n",
          plot.script);
    draw_state(plot.script, 1, 0, 0, "c₀", "pays 0");
    draw_state(plot.script, 2, 2.4, 0, "bⱼ", "pays 0");
    draw_state(plot.script, 3, 5.2, 1.6, "b¹ⱼ", "");
    draw_state(plot.script, 4, 5.2, -1.6, "b⁰ⱼ", "pays rⱼ");
    draw_state(plot.script, 5, 8, 0, "τ", "pays 0, for ever");
    draw_arrow(plot.script, 0, 0, 2.4, 0, "1/n");
    draw_arrow(plot.script, 2.4, 0, 5.2, 1.6, "ξⱼ");
    draw_arrow(plot.script, 2.4, 0, 5.2, -1.6, "1 − ξⱼ");
    draw_arrow(plot.script, 5.2, -1.6, 5.2, 1.6, "ξⱼ");
    draw_arrow(plot.script, 5.2, -1.6, 8, 0, "1 − ξⱼ");
    draw_arrow(plot.script, 5.2, 1.6, 8, 0, "1");
    fputs("set label 'pays M' at 5.2,2.25 center textcolor rgb '#0072b2' font ',13'\n"
          "set label 'for every j = 1, …, n' at 2.4,2.1 center font ',13'\n"
          "plot NaN notitle\n",
          plot.script);
    return experiment_plot_close(&plot);
}

/* The return against one parameter, for M of three sizes: whole numbers are worst. */
static nadir_status draw_concave(experiment_run *run)
{
    enum { POINTS = 40, LINES = 3 };
    static const double shares[LINES] = {0, 0.01, 0.03};
    static const int dashes[LINES] = {1, 2, 4};
    static const char *const colours[LINES] = {"#009e73", "#0072b2", "#d55e00"};
    static const char *const labels[LINES] = {"M = 0", "M: 1 % of what is needed",
                                              "M: 3 % of what is needed"};
    const hardness_program program = {.n = 2, .m = 1, .F = {{1, 1}}, .g = {1}, .c = {-3, 2}, .zeta = -2};
    experiment_csv csv;
    experiment_plot plot;
    nadir_status status = experiment_plot_open(run, "concave", 1000, 580, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    (void)experiment_csv_open(run, "concave", "M,xi,scaled_return", &csv);
    for (int k = 0; k < LINES && status == NADIR_OK; k++) {
        hardness_ladder ladder;
        hardness_ladder_make(&program, DISCOUNT, &ladder);
        hardness_ladder_scale(&program, shares[k], &ladder);
        fprintf(plot.script, "$line%d << EOD\n", k);
        for (int i = 0; i <= POINTS && status == NADIR_OK; i++) {
            const double xi[2] = {(double)i / POINTS, 0};
            double found = NAN;
            status = hardness_ladder_return(run->context, &program, &ladder, xi, &found);
            experiment_csv_number(&csv, ladder.big);
            experiment_csv_number(&csv, xi[0]);
            experiment_csv_number(&csv, found - ladder.base);
            experiment_csv_end_row(&csv);
            fprintf(plot.script, "%.9g %.9g\n", xi[0], found - ladder.base);
        }
        fputs("EOD\n", plot.script);
    }
    fputs("set xlabel 'ξ₁ (chance)'\nset ylabel 'S·J(ξ) − J₀ (reward)'\nset xrange [-0.02:1.02]\n"
          "set title 'Return of the ladder against one parameter: with M > 0 whole numbers are "
          "worst'\n" EXPERIMENT_KEY_BELOW,
          plot.script);
    for (int k = 0; k < LINES; k++) {
        fprintf(plot.script,
                "%s $line%d using 1:2 with lines linewidth 3 linecolor rgb '%s' dashtype %d title '%s'",
                k == 0 ? "plot" : ",", k, colours[k], dashes[k], labels[k]);
    }
    fputs(", '-' with points pointtype 7 pointsize 2 linecolor rgb 'black' title 'whole ξ'\n0 0\n1 -3\ne\n",
          plot.script);
    const nadir_status closed = experiment_csv_close(&csv);
    return experiment_plot_finish(&plot, status != NADIR_OK ? status : closed);
}

static nadir_status draw_one_constraint(experiment_run *run, const hardness_run *self)
{
    experiment_plot plot;
    const nadir_status status = experiment_plot_open(run, "one-constraint", 1000, 640, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    fputs("$points << EOD\n", plot.script);
    for (int64_t i = 0; i < self->one.programs; i++) {
        if (isfinite(self->least[i])) {
            fprintf(plot.script, "%g %.9g %g\n", self->least[i], self->ball_least[i], self->printed_least[i]);
        }
    }
    fputs("EOD\nset offsets 1,1,1,1\nset xlabel 'least c·x by enumeration (reward)'\n"
          "set ylabel 'least c·x from the robust model (reward)'\nset grid xtics\n"
          "set title 'Programs with one constraint: the robust model against "
          "enumeration'\n" EXPERIMENT_KEY_BELOW
          "plot x with lines linewidth 2 linecolor rgb '#888888' dashtype 2 title 'equal', "
          "$points using 1:2 with points pointtype 7 pointsize 0.9 linecolor rgb '#0072b2' title 'L₁ ball, "
          "nadir', "
          "$points using 1:3 with points pointtype 4 pointsize 2 linewidth 2 linecolor rgb '#d55e00' title "
          "'the rule as printed, where it is wrong'\n",
          plot.script);
    return experiment_plot_close(&plot);
}

/* --------------------------------------------------------------------------------------------- report */

static void tell_reduction(experiment_run *run, const hardness_run *self)
{
    int64_t programs = 0;
    int64_t agree = 0;
    double error = 0;
    experiment_show(run, "ladder", 0,
                    "The ladder as it is built here, with the paper's states; ξ_j drives two rows, which is "
                    "what makes the return concave in it. r_j = M + (γM − c_j) / (γ(1 + γ/n)).");
    experiment_show(run, "concave", -1,
                    "n = 2, c = (−3, 2), ξ₂ = 0: between whole numbers the return lies above the line "
                    "c₁ ξ₁, the more so the larger M is. M needed: what makes rounding safe.");
    experiment_table(run, "The answer of the robust model against enumeration of all x",
                     "items n|constraints m|states|programs|answer yes|vertices solved|agree");
    for (int k = 0; k < KINDS; k++) {
        const reduction *sums = &self->kinds[k];
        experiment_table_row(run, "%d|%d|%d|%lld|%lld|%lld|%lld", sums->n, sums->m, 3 * sums->n + 2,
                             (long long)sums->programs, (long long)sums->yes, (long long)sums->vertices,
                             (long long)sums->agree);
        programs += sums->programs;
        agree += sums->agree;
        error = fmax(error, sums->formula_error);
    }
    experiment_table_end(run);
    experiment_finding(
        run, "Reduction of a 0/1 integer program",
        "Stated; transitions and rewards in a figure of [RVI] alone",
        experiment_text(run,
                        "Built as a model: the answer agrees with enumeration in %lld of %lld programs; "
                        "returns agree with the formula to %.1g",
                        (long long)agree, (long long)programs, error),
        "Agrees; the paper does not print transitions and rewards, so those of this ladder, with its states "
        "and "
        "its set, are our own.");
}

static void tell_one(experiment_run *run, const hardness_run *self)
{
    const one_constraint *one = &self->one;
    experiment_show(run, "one-constraint", 1,
                    "%lld programs with the constraint 1·x ≤ g: the robust return of an L_1 ball (domain "
                    "support), which nadir evaluates, against enumeration.",
                    (long long)one->programs);
    experiment_table(run, "One constraint, against enumeration",
                     "programs|closed form|L_1 ball|ladder's vertices|rule as printed");
    experiment_table_row(run, "%lld|%lld|%lld|%lld|%lld", (long long)one->programs, (long long)one->closed,
                         (long long)one->ball, (long long)one->ladder, (long long)one->printed);
    experiment_table_end(run);
    experiment_table(run, "Larger programs, past enumeration", "items n|g|closed form|L_1 ball|seconds");
    for (int k = 0; k < SIZES; k++) {
        const large_case *found = &self->large[k];
        experiment_table_row(run, "%d|%d|%lld|%.3f|%.2g", found->n, found->g, (long long)found->closed,
                             found->ball, found->seconds);
    }
    experiment_table_end(run);
    experiment_finding(
        run, "One constraint in closed form", "The g smallest coordinates of c decide",
        experiment_text(run,
                        "The g smallest negative ones do: right in %lld of %lld programs, as is the L_1 "
                        "ball in %lld; the rule as printed in %lld",
                        (long long)one->closed, (long long)one->programs, (long long)one->ball,
                        (long long)one->printed),
        "1·x ≤ g does not ask for g items, so positive c_j are left out; and for g = 0, ζ < 0 the answer is "
        "no, "
        "where the paper prints yes.");
    experiment_finding(
        run, "U_1 = {P_ξ : 1·ξ ≤ g}", "Taken as an L_1 ball",
        "True of a model in which ξ_j drives one row; in the ladder it drives two, and the ball "
        "lets them move apart",
        "The one-constraint case needs no penalty on fractions, so the second row, and M, can "
        "be left out.");
}

static nadir_status run_hardness(experiment_run *run)
{
    nadir_status status = NADIR_OK;
    hardness_run *self = NULL;
    NADIR_NEW_ZERO(run->context, self, 1);
    self->programs = run->quick ? 40 : MOST_PROGRAMS;
    NADIR_CHECK(try_reductions(run, self));
    NADIR_CHECK(try_one_constraint(run, self));
    NADIR_CHECK(try_large(run, self));
    NADIR_CHECK(draw_ladder(run));
    NADIR_CHECK(draw_concave(run));
    NADIR_CHECK(draw_one_constraint(run, self));
    tell_reduction(run, self);
    tell_one(run, self);
cleanup:
    nadir_release(run->context, self);
    return status;
}

const experiment experiment_hardness = {
    .name = "hardness",
    .title = "Hardness: integer programs as robust models",
    .about =
        "Random 0/1 integer programs with one, two and three constraints, entries −4 to 4, 200 of each "
        "(quick: 40): reduced to a robust model, whose return is solved at every vertex of {F ξ ≤ g, "
        "0 ≤ ξ ≤ 1}, and answered by enumeration. Then as many programs with the one constraint 1·x ≤ g, "
        "c from −9 to 9: in closed form, by the rule as printed, by the reduction, by enumeration, and as "
        "an L_1 ball that nadir evaluates. γ = 0.9.",
    .sources = sources,
    .run = run_hardness,
};
