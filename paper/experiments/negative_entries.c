/*
 * negative_entries.c: how much of the worst kernel of the paper's ball is no probability, and what changes
 * when it has to be.
 *
 * The paper's ball has rows that sum to one and no signs: the domain `free`. Its worst kernel is Phat - b k^T
 * with k zero-sum, so that an entry P(t|s, a) = Phat(t|s, a) - b(s, a) k(t) is negative as soon as b k
 * exceeds it. The domain `simplex` forbids that; its penalty can only be smaller. Small random instances have
 * entries of Phat near zero, about 2 / (S^2 A) for the smallest of a state's rows.
 */
#include "experiment.h"
#include "inside.h"

#include <math.h>
#include <string.h>

#define DISCOUNT 0.9

enum { SIZES = 6, RADII = 14, FULL_SEEDS = 5, QUICK_SEEDS = 2 };

/* Those of the paper's experiments, that of its penalty function, and, for comparison, a sparse model. */
static const struct size {
    int64_t states, actions, branch; /* 0: the paper's dense rows */
    const char *label, *colour;
    int point;
} sizes[SIZES] = {
    {8, 8, 0, "S = 8, A = 8", "#e69f00", 7},        {32, 8, 0, "S = 32, A = 8", "#009e73", 9},
    {64, 8, 0, "S = 64, A = 8", "#56b4e9", 13},     {128, 8, 0, "S = 128, A = 8", "#0072b2", 5},
    {100, 10, 0, "S = 100, A = 10", "#cc79a7", 11}, {64, 8, 5, "sparse, S = 64", "#000000", 6},
};

/* Rising; 0.005, 0.01, 0.02 and 0.1 are the paper's. */
static const double radii[RADII] = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                    0.1,    0.15,  0.2,   0.3,   0.5,  0.7,  1};

/* What one instance gives at one radius. */
typedef struct measure {
    double share;   /* of negative entries of the free set's worst kernel */
    double least;   /* its smallest entry */
    double free;    /* penalties */
    double simplex; /* NaN: past breakdown, for the free one */
    double valid;   /* the radius up to which no kernel of the ball has a negative entry */
    bool free_certified, simplex_certified;
} measure;

typedef struct tally {
    int count; /* of instances whose free penalty is finite */
    double share, share_low, share_high;
    double lost, lost_low, lost_high; /* 1 - penalty of simplex / that of free */
    double least;
    double valid; /* largest radius of a ball without invalid kernels, over the instances */
    bool certified;
} tally;

typedef struct tallies {
    tally tallies[SIZES][RADII];
} tallies;

/* ------------------------------------------------------------------------------------------ measuring */

/* P <- the row of the nominal kernel; P: [states]. */
static void copy_row(const nadir_model_data *data, int64_t row, double *P)
{
    if (data->dense != NULL) {
        memcpy(P, data->dense + row * data->states, (size_t)data->states * sizeof *P);
        return;
    }
    memset(P, 0, (size_t)data->states * sizeof *P);
    for (int64_t i = data->row_starts[row]; i < data->row_starts[row + 1]; i++) {
        P[data->columns[i]] = data->probabilities[i];
    }
}

/* Counts entries of a kernel Phat - b k^T. */
static nadir_status count_negative(experiment_run *run, const nadir_model *model, const nadir_worst *worst,
                                   measure *found)
{
    nadir_status status = NADIR_OK;
    nadir_model_data data;
    const double *b;
    const double *k;
    double *P = NULL;
    int64_t negative = 0;
    nadir_model_data_default(&data);
    nadir_model_view(model, &data);
    if (!nadir_kernel_rank_one(nadir_worst_kernel(worst), &b, &k) || b == NULL) {
        return cli_fail(run->cli, NADIR_ERROR_UNSUPPORTED, "the worst kernel is not of rank one");
    }
    NADIR_NEW(run->context, P, data.states);
    found->least = INFINITY;
    for (int64_t row = 0; row < data.rows; row++) {
        copy_row(&data, row, P);
        for (int64_t t = 0; t < data.states; t++) {
            const double entry = P[t] - b[row] * k[t];
            negative += entry < 0;
            found->least = fmin(found->least, entry);
        }
    }
    found->share = (double)negative / ((double)data.rows * (double)data.states);
cleanup:
    nadir_release(run->context, P);
    return status;
}

static nadir_status measure_one(experiment_run *run, nadir_model *model, nadir_solver *solver, double radius,
                                measure *found)
{
    nadir_status status = NADIR_OK;
    nadir_robust result = {.size = sizeof result};
    nadir_worst *worst = NULL;
    nadir_ball ball;
    *found = (measure){.share = NAN, .least = NAN, .free = NAN, .simplex = NAN};
    nadir_ball_default(&ball);
    ball.radius = &radius;
    ball.radius_count = 1;
    ball.domain = NADIR_DOMAIN_FREE;
    status = nadir_solver_robust(run->context, solver, &ball, NULL, &result, &worst);
    if (status == NADIR_OK) {
        found->free = result.penalty;
        found->free_certified = result.certified;
        NADIR_CHECK(count_negative(run, model, worst, found));
    } else if (status != NADIR_ERROR_ILL_POSED) {
        goto cleanup;
    }
    ball.domain = NADIR_DOMAIN_SIMPLEX;
    NADIR_CHECK(nadir_solver_robust(run->context, solver, &ball, NULL, &result, NULL));
    found->simplex = result.penalty;
    found->simplex_certified = result.certified;
cleanup:
    nadir_worst_free(worst);
    return status;
}

/* Adds one instance to the tallies. */
static void add(const measure *found, tally *sum)
{
    const double lost = fmax(0, 1 - found->simplex / found->free);
    if (isnan(found->free)) {
        return;
    }
    const bool first = sum->count == 0;
    sum->share += found->share;
    sum->share_low = first ? found->share : fmin(sum->share_low, found->share);
    sum->share_high = first ? found->share : fmax(sum->share_high, found->share);
    sum->lost += lost;
    sum->lost_low = first ? lost : fmin(sum->lost_low, lost);
    sum->lost_high = first ? lost : fmax(sum->lost_high, lost);
    sum->least = first ? found->least : fmin(sum->least, found->least);
    sum->valid = fmax(sum->valid, found->valid);
    sum->certified = (first || sum->certified) && found->free_certified && found->simplex_certified;
    sum->count++;
}

static nadir_status make_instance(experiment_run *run, const struct size *size, uint64_t seed,
                                  nadir_model **model, nadir_policy **policy)
{
    nadir_generate_settings settings;
    if (size->branch == 0) {
        return experiment_setting(run, size->states, size->actions, DISCOUNT, seed, model, policy);
    }
    nadir_generate_settings_default(&settings);
    settings.states = size->states;
    settings.actions = size->actions;
    settings.branch = size->branch;
    settings.discount = DISCOUNT;
    settings.seed = seed;
    const nadir_status status = nadir_model_generate(run->context, "garnet", &settings, model);
    return status == NADIR_OK ? nadir_policy_create_uniform(run->context, *model, policy) : status;
}

static nadir_status measure_instance(experiment_run *run, const struct size *size, uint64_t seed,
                                     experiment_csv *csv, tally row[RADII])
{
    nadir_status status = NADIR_OK;
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_solver *solver = NULL;
    double valid;
    NADIR_CHECK(make_instance(run, size, seed, &model, &policy));
    NADIR_CHECK(nadir_solver_create(run->context, model, policy, NULL, &solver));
    NADIR_CHECK(nadir_model_valid_radius(run->context, model, 2, &valid));
    for (int i = 0; i < RADII; i++) {
        measure found;
        NADIR_CHECK(experiment_progress(run, "%s, seed %llu, β = %g", size->label, (unsigned long long)seed,
                                        radii[i]));
        NADIR_CHECK(measure_one(run, model, solver, radii[i], &found));
        found.valid = valid;
        add(&found, &row[i]);
        experiment_csv_integer(csv, size->states);
        experiment_csv_integer(csv, size->actions);
        experiment_csv_integer(csv, (int64_t)seed);
        experiment_csv_number(csv, radii[i]);
        experiment_csv_number(csv, valid);
        experiment_csv_number(csv, found.share);
        experiment_csv_number(csv, found.least);
        experiment_csv_number(csv, found.free);
        experiment_csv_integer(csv, found.free_certified);
        experiment_csv_number(csv, found.simplex);
        experiment_csv_integer(csv, found.simplex_certified);
        experiment_csv_end_row(csv);
    }
cleanup:
    nadir_solver_free(solver);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

/* ------------------------------------------------------------------------------------------- pictures */

/* Percent; nothing where all are zero, which logarithms do not know. */
static void write_points(FILE *script, const tally row[RADII], bool lost)
{
    for (int j = 0; j < RADII; j++) {
        const tally *counted = &row[j];
        const double mean = (lost ? counted->lost : counted->share) / counted->count;
        const double low = lost ? counted->lost_low : counted->share_low;
        const double high = lost ? counted->lost_high : counted->share_high;
        if (counted->count > 0 && mean > 1e-7) {
            fprintf(script, "%.9g %.9g %.9g %.9g\n", radii[j], 100 * mean, 100 * fmax(low, 1e-9), 100 * high);
        }
    }
}

/* Lines with the spread over seeds, one for each size; the paper's radii as lines upwards. */
static nadir_status draw(experiment_run *run, const char *stem, const char *look, const tallies *all,
                         bool lost)
{
    experiment_plot plot;
    nadir_status status = experiment_plot_open(run, stem, 1150, EXPERIMENT_HEIGHT, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    for (int i = 0; i < SIZES; i++) {
        fprintf(plot.script, "$size%d << EOD\n", i);
        write_points(plot.script, all->tallies[i], lost);
        fputs("EOD\n", plot.script);
    }
    fprintf(plot.script,
            "set title '%s'\n" EXPERIMENT_KEY_BELOW
            "set logscale\nset xrange [0.0004:1.3]\nset xlabel 'radius β (L₂ distance of kernels)'\nset "
            "format '%%g'\n%s",
            lost ? "What P ≥ 0 changes: how much less the worst kernel costs"
                 : "Entries of the worst kernel that are negative (domain free)",
            look);
    static const double paper[] = {0.005, 0.01, 0.02, 0.1};
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++) {
        fprintf(plot.script,
                "set arrow from %g, graph 0 to %g, graph 1 nohead linewidth 1.5 dashtype 3 linecolor rgb "
                "'#888888'\n",
                paper[i], paper[i]);
    }
    fputs("plot ", plot.script);
    for (int i = 0; i < SIZES; i++) {
        fprintf(
            plot.script,
            "$size%d using 1:2:3:4 with yerrorbars pointtype %d linewidth 1.5 linecolor rgb '%s' notitle, "
            "$size%d using 1:2 with linespoints pointtype %d linewidth 2.5 linecolor rgb '%s' title '%s', ",
            i, sizes[i].point, sizes[i].colour, i, sizes[i].point, sizes[i].colour, sizes[i].label);
    }
    fputs("NaN with lines linewidth 1.5 dashtype 3 linecolor rgb '#888888' title 'β of the paper'\n",
          plot.script);
    return experiment_plot_close(&plot);
}

/* -------------------------------------------------------------------------------------------- report */

static void tell(experiment_run *run, const tallies *all)
{
    static const int paper[] = {3, 4, 5, 7};
    experiment_table(run, "Worst kernels at the radii of the paper, mean over the seeds",
                     "instance|β|negative entries|smallest entry|P ≥ 0 lowers the penalty by");
    for (int i = 0; i < SIZES; i++) {
        for (size_t j = 0; j < sizeof paper / sizeof *paper; j++) {
            const tally *counted = &all->tallies[i][paper[j]];
            experiment_table_row(run, "%s|%g|%.3g %%|%.2e|%.3g %%", sizes[i].label, radii[paper[j]],
                                 100 * counted->share / counted->count, counted->least,
                                 100 * counted->lost / counted->count);
        }
    }
    experiment_table_end(run);
    const tally *main = &all->tallies[3][4];
    const tally *large = &all->tallies[3][7];
    const tally *largest = &all->tallies[3][RADII - 1];
    const tally *sparse = &all->tallies[SIZES - 1][7];
    experiment_finding(
        run, "All kernels of the ball are kernels", "β is assumed small enough for that",
        experiment_text(run,
                        "S = 128, A = 8: %.2g %% of the worst kernel's entries are negative at β = 0.01, "
                        "%.2g %% at β = 0.1; only balls of radius %.1g and less hold no invalid kernel",
                        100 * main->share / main->count, 100 * large->share / large->count, main->valid),
        "Rows of uniform numbers have entries near zero, so the assumption fails for the paper's own "
        "instances "
        "at every radius that it uses; the set as it is defined does not ask for P ≥ 0.");
    experiment_finding(
        run, "What P ≥ 0 changes", "not looked at",
        experiment_text(run,
                        "S = 128, A = 8: the penalty falls by %.2g %% at β = 0.01, %.2g %% at β = 0.1, "
                        "%.2g %% at β = 1; sparse rows, β = 0.1: by %.2g %%",
                        100 * main->lost / main->count, 100 * large->lost / large->count,
                        100 * largest->lost / largest->count, 100 * sparse->lost / sparse->count),
        "On dense rows the invalid entries are few and tiny, and so is what they add; on sparse rows every "
        "zero "
        "may turn negative, and the paper's set is far too pessimistic.");
}

static nadir_status run(experiment_run *run)
{
    nadir_status status = NADIR_OK;
    const uint64_t seeds = run->quick ? QUICK_SEEDS : FULL_SEEDS;
    tallies all = {0};
    experiment_csv csv = {0};
    (void)experiment_csv_open(run, "negative-entries",
                              "states,actions,seed,radius,valid_radius,negative_share,smallest_entry,"
                              "penalty_free,certified_free,penalty_simplex,certified_simplex",
                              &csv);
    for (int i = 0; i < SIZES; i++) {
        for (uint64_t j = 0; j < seeds; j++) {
            NADIR_CHECK(measure_instance(run, &sizes[i], run->seed + j, &csv, all.tallies[i]));
        }
    }
    NADIR_CHECK(experiment_csv_close(&csv));
    NADIR_CHECK(draw(run, "negative-entries",
                     "set ylabel 'negative entries of the worst kernel (%)'\nset yrange [0.001:100]\n", &all,
                     false));
    NADIR_CHECK(draw(run, "simplex-against-free",
                     "set ylabel 'part of the penalty that P ≥ 0 removes (%)'\nset yrange [0.001:100]\n",
                     &all, true));
    experiment_show(
        run, "negative-entries", 0,
        "The share of entries of the free set's worst kernel that are negative; bars from the least "
        "to the most over the seeds.");
    run->data = "negative-entries";
    experiment_show(run, "simplex-against-free", -1,
                    "What the domain simplex removes of the penalty: the worst case over kernels that are "
                    "kernels, against the paper's set. %s",
                    all.tallies[3][RADII - 1].certified
                        ? "All values are certified."
                        : "On the largest balls the value on the simplex is attained, not certified: the CSV "
                          "tells which.");
    tell(run, &all);
cleanup:
    experiment_csv_drop(&csv);
    return status;
}

static const experiment_source sources[] = {
    {"Section Method, the definition of the set",
     "The kernel radius β is assumed to be small enough to guarantee that all kernels within U_p are "
     "well-defined",
     "An assumption in the text; the experiments use β = 0.005, 0.01, 0.02, 0.1 and 1/S on random kernels "
     "without checking it."},
    {0},
};

const experiment experiment_negative_entries = {
    .name = "negative-entries",
    .title = "The free set's invalid kernels",
    .about =
        "The paper's random instances (γ = 0.9, random policy, μ uniform) of its own sizes, L2 ball: the "
        "worst kernel of the set as the paper defines it (domain free), its negative entries, and the worst "
        "case over the kernels of the ball that are kernels (domain simplex). For comparison a garnet with "
        "64 states, 8 actions and 5 successors for each of them, uniform policy. Five seeds, from the "
        "given one on; two with quick settings.",
    .sources = sources,
    .run = run,
};
