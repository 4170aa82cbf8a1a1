/*
 * notation.c: the experiment `notation`: the paper's tables of symbols, as far as they can be measured.
 *
 * sigma_p(v) = min over omega of |v - omega 1|_p has a closed form for p = 1, 2 and infinity; here as
 * printed, as nadir computes it, and by golden-section search on the definition. v, D and d are compared with
 * the sum of discounted steps, v = sum over t of gamma^t (P^pi)^t R^pi.
 */
#include "experiment.h"
#include "inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NORMS = 3, MOST = 9, PROBLEMS = 20, STATES = 30, ACTIONS = 8, POINTS = 160 };

static const double norms[NORMS] = {1, 2, INFINITY};
static const char *const norm_names[NORMS] = {"1", "2", "∞"};

/* Vectors of so many entries. */
typedef struct tally {
    int64_t states;
    double printed[NORMS], ours[NORMS]; /* how far off the definition, relatively, at most */
} tally;

typedef struct notation_run {
    int64_t vectors;
    tally even, odd;
    double series, dual; /* v against the sum of steps; mu . v against d . R; relative, at most */
} notation_run;

/* ----------------------------------------------------------------------------------------- deviations */

static double distance(int64_t states, const double *v, double omega, double p)
{
    double sum = 0;
    for (int64_t s = 0; s < states; s++) {
        const double part = fabs(v[s] - omega);
        sum = isinf(p) ? fmax(sum, part) : sum + pow(part, p);
    }
    return isinf(p) ? sum : pow(sum, 1 / p);
}

/* The definition; the distance is convex in omega. */
static double deviation_by_search(int64_t states, const double *v, double p)
{
    const double golden = (sqrt(5) - 1) / 2;
    double low = v[0];
    double high = v[0];
    for (int64_t s = 1; s < states; s++) {
        low = fmin(low, v[s]);
        high = fmax(high, v[s]);
    }
    for (int i = 0; i < 100; i++) {
        const double left = high - golden * (high - low);
        const double right = low + golden * (high - low);
        if (distance(states, v, left, p) < distance(states, v, right, p)) {
            high = right;
        } else {
            low = left;
        }
    }
    return distance(states, v, (low + high) / 2, p);
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The paper's table, as printed; places count from 1. */
static double deviation_as_printed(int64_t states, const double *v, double p)
{
    double sorted[MOST];
    double sum = 0;
    memcpy(sorted, v, (size_t)states * sizeof *v);
    qsort(sorted, (size_t)states, sizeof *sorted, falling);
    if (isinf(p)) {
        return (sorted[0] - sorted[states - 1]) / 2;
    }
    if (p == 2) {
        double mean = 0;
        for (int64_t s = 0; s < states; s++) {
            mean += v[s] / (double)states;
        }
        for (int64_t s = 0; s < states; s++) {
            sum += (v[s] - mean) * (v[s] - mean);
        }
        return sqrt(sum);
    }
    for (int64_t i = 1; i <= (states + 1) / 2; i++) {
        sum += sorted[i - 1];
    }
    for (int64_t i = (states + 2) / 2; i <= states; i++) {
        sum -= sorted[i - 1];
    }
    return sum;
}

static nadir_status try_vectors(experiment_run *run, int64_t vectors, tally *sums)
{
    nadir_random random;
    nadir_random_seed(&random, run->seed + (uint64_t)sums->states);
    for (int64_t n = 0; n < vectors; n++) {
        double v[MOST];
        for (int64_t s = 0; s < sums->states; s++) {
            v[s] = nadir_random_normal(&random);
        }
        for (int k = 0; k < NORMS; k++) {
            double work[MOST];
            nadir_gstd found;
            const nadir_status status =
                nadir_gstd_compute(run->context, 0, sums->states, v, norms[k], work, NULL, &found);
            if (status != NADIR_OK) {
                return status;
            }
            const double exact = deviation_by_search(sums->states, v, norms[k]);
            const double printed = deviation_as_printed(sums->states, v, norms[k]);
            sums->printed[k] = fmax(sums->printed[k], fabs(printed / exact - 1));
            sums->ours[k] = fmax(sums->ours[k], fabs(found.sigma / exact - 1));
        }
    }
    return NADIR_OK;
}

/* -------------------------------------------------------------------------------------------- symbols */

/* v by discounted steps, and R^pi; the model is dense and has ACTIONS rows for every state. */
static void add_steps(const nadir_model_data *data, const double *policy, double v[STATES])
{
    double step[STATES]; /* (P^pi)^t R^pi */
    double scale = 1;
    memset(step, 0, sizeof step);
    for (int row = 0; row < STATES * ACTIONS; row++) {
        step[row / ACTIONS] += policy[row] * data->rewards[row];
    }
    memset(v, 0, STATES * sizeof *v);
    for (int t = 0; t < 500; t++) {
        double next[STATES] = {0};
        for (int s = 0; s < STATES; s++) {
            v[s] += scale * step[s];
        }
        for (int row = 0; row < STATES * ACTIONS; row++) {
            for (int to = 0; to < STATES; to++) {
                next[row / ACTIONS] += policy[row] * data->dense[row * STATES + to] * step[to];
            }
        }
        memcpy(step, next, sizeof step);
        scale *= data->discount;
    }
}

static nadir_status try_problem(experiment_run *run, uint64_t seed, notation_run *self)
{
    nadir_status status = NADIR_OK;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    nadir_model_data data;
    double v[STATES];
    double size = 0;
    double off = 0;
    NADIR_CHECK(experiment_setting(run, STATES, ACTIONS, 0.9, seed, &model, &policy));
    NADIR_CHECK(nadir_solver_create(run->context, model, policy, NULL, &solver));
    NADIR_CHECK(nadir_solver_solve(run->context, solver));
    nadir_model_data_default(&data);
    nadir_model_view(model, &data);
    add_steps(&data, nadir_policy_probabilities(policy), v);
    for (int s = 0; s < STATES; s++) {
        size = fmax(size, fabs(v[s]));
        off = fmax(off, fabs(v[s] - solver->value.v[s]));
    }
    self->series = fmax(self->series, off / size);
    self->dual = fmax(self->dual, fabs(solver->value.J - solver->value.J_dual) / size);
cleanup:
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

/* ---------------------------------------------------------------------------------------- data, picture */

static nadir_status write_tallies(experiment_run *run, const notation_run *self)
{
    experiment_csv csv;
    (void)experiment_csv_open(run, "formulas", "p,states,vectors,error_as_printed,error_nadir", &csv);
    for (int k = 0; k < NORMS; k++) {
        for (int i = 0; i < 2; i++) {
            const tally *sums = i == 0 ? &self->even : &self->odd;
            experiment_csv_text(&csv, isinf(norms[k]) ? "inf" : norm_names[k]);
            experiment_csv_integer(&csv, sums->states);
            experiment_csv_integer(&csv, self->vectors);
            experiment_csv_number(&csv, sums->printed[k]);
            experiment_csv_number(&csv, sums->ours[k]);
            experiment_csv_end_row(&csv);
        }
    }
    return experiment_csv_close(&csv);
}

/* |v - omega 1|_p of one vector against omega, and its least value. */
static nadir_status draw_deviations(experiment_run *run)
{
    static const double v[MOST] = {-1.9, -1.2, -0.7, -0.4, 0.1, 0.2, 0.9, 1.4, 3.1};
    static const char *const colours[NORMS] = {"#009e73", "#0072b2", "#d55e00"};
    static const int dashes[NORMS] = {1, 2, 4};
    nadir_status status = NADIR_OK;
    experiment_csv csv;
    experiment_plot plot;
    NADIR_CHECK(experiment_plot_open(run, "deviations", EXPERIMENT_WIDTH, 560, &plot));
    (void)experiment_csv_open(run, "deviations", "omega,norm_1,norm_2,norm_inf", &csv);
    fputs("$curves << EOD\n", plot.script);
    for (int i = 0; i <= POINTS; i++) {
        const double omega = -2.5 + 6.0 * i / POINTS;
        experiment_csv_number(&csv, omega);
        fprintf(plot.script, "%.6g", omega);
        for (int k = 0; k < NORMS; k++) {
            const double found = distance(MOST, v, omega, norms[k]);
            experiment_csv_number(&csv, found);
            fprintf(plot.script, " %.9g", found);
        }
        experiment_csv_end_row(&csv);
        fputc('\n', plot.script);
    }
    fputs("EOD\n$least << EOD\n", plot.script);
    for (int k = 0; k < NORMS && status == NADIR_OK; k++) {
        double work[MOST];
        nadir_gstd found = {0};
        status = nadir_gstd_compute(run->context, 0, MOST, v, norms[k], work, NULL, &found);
        fprintf(plot.script, "%.9g %.9g\n", found.omega, deviation_as_printed(MOST, v, norms[k]));
    }
    fputs("EOD\nset xlabel 'ω (units of v)'\nset ylabel '‖v − ω1‖_p (units of v)'\nset xrange [-2.5:3.5]\n"
          "set yrange [0:*]\nset title 'Distance of v from the constants, and its least value "
          "σ_p(v)'\n" EXPERIMENT_KEY_BELOW,
          plot.script);
    for (int k = 0; k < NORMS; k++) {
        fprintf(plot.script,
                "%s $curves using 1:%d with lines linewidth 3 linecolor rgb '%s' dashtype %d "
                "title 'p = %s'",
                k == 0 ? "plot" : ",", k + 2, colours[k], dashes[k], norm_names[k]);
    }
    fputs(", $least with points pointtype 7 pointsize 1.6 linecolor rgb 'black' title 'σ_p(v) as printed'\n",
          plot.script);
    const nadir_status closed = experiment_csv_close(&csv);
    status = experiment_plot_finish(&plot, status != NADIR_OK ? status : closed);
cleanup:
    return status;
}

/* --------------------------------------------------------------------------------------------- report */

static double largest(const double a[NORMS], const double b[NORMS])
{
    double most = 0;
    for (int k = 0; k < NORMS; k++) {
        most = fmax(most, fmax(a[k], b[k]));
    }
    return most;
}

static void tell(experiment_run *run, const notation_run *self)
{
    experiment_show(run, "deviations", 1,
                    "‖v − ω1‖_p of nine numbers against ω: the formulas of the table give the least of it.");
    experiment_table(run, "σ_p(v): how far off the least of ‖v − ω1‖_p, relatively, at most",
                     "p|as printed, S = 8|as printed, S = 9|nadir, S = 8|nadir, S = 9");
    for (int k = 0; k < NORMS; k++) {
        experiment_table_row(run, "%s|%.1e|%.1e|%.1e|%.1e", norm_names[k], self->even.printed[k],
                             self->odd.printed[k], self->even.ours[k], self->odd.ours[k]);
    }
    experiment_table_end(run);
    experiment_finding(
        run, "Table of notations", "v = (I − γP^π)⁻¹R^π, D = (I − γP^π)⁻¹, d = μᵀ(I − γP^π)⁻¹",
        experiment_text(run,
                        "v is the sum of discounted steps to %.1g, and μ·v = d·R^π to %.1g, in %d random "
                        "problems",
                        self->series, self->dual, (int)PROBLEMS),
        "They agree; the appendix on experiments prints R^π behind D and d as well, a slip.");
    experiment_finding(
        run, "Table of σ_p", "closed forms for p = ∞, 2, 1",
        experiment_text(run, "right for even and odd S: the least of ‖v − ω1‖_p to %.1g on %lld vectors",
                        largest(self->even.printed, self->odd.printed), 2 * (long long)self->vectors),
        "They agree; what the table calls the variance, p = 2, is √S times the standard deviation.");
}

static nadir_status run_notation(experiment_run *run)
{
    nadir_status status = NADIR_OK;
    notation_run self = {
        .vectors = run->quick ? 200 : 10000, .even = {.states = MOST - 1}, .odd = {.states = MOST}};
    NADIR_CHECK(experiment_progress(run, "deviations"));
    NADIR_CHECK(try_vectors(run, self.vectors, &self.even));
    NADIR_CHECK(try_vectors(run, self.vectors, &self.odd));
    for (int i = 0; i < PROBLEMS; i++) {
        NADIR_CHECK(experiment_progress(run, "values, problem %d of %d", i + 1, (int)PROBLEMS));
        NADIR_CHECK(try_problem(run, run->seed + (uint64_t)i, &self));
    }
    NADIR_CHECK(write_tallies(run, &self));
    NADIR_CHECK(draw_deviations(run));
    tell(run, &self);
cleanup:
    return status;
}

static const experiment_source sources[] = {
    {"Table 1, appendix", "Useful Notations",
     "Definitions: conjugate exponents, the value function v, the occupancy matrix D, the occupancy measure "
     "d "
     "and the names of the sets."},
    {"Table 2, appendix", "p-variance",
     "σ_p(v) in closed form for p = ∞ (half the range), 2 (\"variance\") and 1 (top half less lower half)."},
    {0},
};

const experiment experiment_notation = {
    .name = "notation",
    .title = "The symbols: v, D, d and the deviation σ_p",
    .about = "The closed forms of σ_p as printed and as nadir computes them, against golden sections on the "
             "definition, σ_p(v) = min over ω of ‖v − ω1‖_p: normal vectors of 8 and of 9 entries, 10 000 of "
             "each (quick: 200). Then v and d of 20 random problems of the paper's kind (S = 30, A = 8, "
             "γ = 0.9) against the sum of 500 discounted steps.",
    .sources = sources,
    .run = run_notation,
};
