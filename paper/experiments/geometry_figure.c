/* geometry_figure.c: the experiment `geometry`: the set {D^pi H^pi} in pictures, and whether it is convex. */
#include "geometry_figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const experiment_source sources[] = {
    {"Figure 3, section Dual Formulation",
     "Projections of set D along principal components, for S=3, A=2 with 10 millions samples. This figure "
     "strongly suggests the non-convexity of the set.",
     "A picture; no numbers. The text calls the convexity of the set an open question, the appendix retains "
     "the top 10 components."},
    {"Figure 10, appendix", "2D PCA projections of the first 5 components.", "A picture; no numbers."},
    {"Figure 11, appendix", "3D PCA projection of the first three principal components.", "A picture."},
    {"Figure 12, appendix", "2D Random Projections of the Data.", "A picture."},
    {"Figure 13, appendix", "3D Random Projection Example.", "A picture."},
    {0},
};

enum { N = GEOMETRY_ENTRIES };

/* --------------------------------------------------------------------------------------- components */

static nadir_status write_components(experiment_run *run, const geometry_run *self)
{
    experiment_csv csv;
    double sum = 0;
    double total = 0;
    for (int c = 0; c < N; c++) {
        total += self->moments.variances[c];
    }
    (void)experiment_csv_open(run, "components", "component,variance,share,share_so_far", &csv);
    for (int c = 0; c < N; c++) {
        sum += self->moments.variances[c];
        experiment_csv_integer(&csv, c + 1);
        experiment_csv_number(&csv, self->moments.variances[c]);
        experiment_csv_number(&csv, self->moments.variances[c] / total);
        experiment_csv_number(&csv, sum / total);
        experiment_csv_end_row(&csv);
    }
    const nadir_status status = experiment_csv_close(&csv);
    if (status != NADIR_OK) {
        return status;
    }
    (void)experiment_csv_open(run, "covariance", "row,column,covariance", &csv);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            experiment_csv_integer(&csv, i);
            experiment_csv_integer(&csv, j);
            experiment_csv_number(&csv, self->moments.covariance[i * N + j]);
            experiment_csv_end_row(&csv);
        }
    }
    return experiment_csv_close(&csv);
}

/* How many components are more than rounding. */
static int rank_of(const geometry_moments *moments)
{
    int rank = 0;
    while (rank < N && moments->variances[rank] > 1e-12 * moments->variances[0]) {
        rank++;
    }
    return rank;
}

static nadir_status draw_components(experiment_run *run, const geometry_run *self)
{
    experiment_plot plot;
    double total = 0;
    const nadir_status status = experiment_plot_open(run, "components", 1000, 520, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    for (int c = 0; c < N; c++) {
        total += self->moments.variances[c];
    }
    experiment_plot_tens(&plot, 'y', -18, 0, 2);
    fputs("$shares << EOD\n", plot.script);
    for (int c = 0; c < N; c++) {
        fprintf(plot.script, "%d %.17g\n", c + 1, fmax(1e-18, self->moments.variances[c] / total));
    }
    fprintf(plot.script,
            "EOD\nset logscale y\nset yrange [1e-18:3]\nset xrange [0.3:18.7]\n"
            "set xtics 1,1,18\nset boxwidth 0.6\nset style fill solid 0.9\nunset key\n"
            "set title 'Principal components of {D^π H^π}: share of the variance'\n"
            "set xlabel 'principal component'\nset ylabel 'share of the variance'\n"
            "set arrow from %d.5,graph 0 to %d.5,graph 1 nohead dashtype 2 linewidth 2 linecolor rgb "
            "'#888888'\n"
            "set label '8 deterministic policies span 7 dimensions' at 7.8,graph 0.93\n"
            "set label 'the rest is rounding' at 7.8,graph 0.86\n"
            "plot $shares using 1:2 with boxes linecolor rgb '#0072b2'\n",
            7, 7);
    return experiment_plot_close(&plot);
}

/* ------------------------------------------------------------------------------------------- midpoints */

/* Rows whose policies differ by less than this have the same one, but for rounding. */
#define ROUNDING 1e-10

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static nadir_status test_midpoints(experiment_run *run, geometry_run *self, int differing,
                                   geometry_midpoints *room)
{
    geometry_summary *found = &self->found[differing - 1];
    double *ratios = self->ratios[differing - 1];
    const nadir_status status =
        geometry_midpoints_test(run->context, &self->model, run->seed, differing, self->pairs, room);
    if (status != NADIR_OK) {
        return status;
    }
    int64_t outside = 0;
    *found = (geometry_summary){.pairs = self->pairs};
    for (int64_t n = 0; n < self->pairs; n++) {
        ratios[n] = room->distance[n] / room->separation[n];
        outside += room->disagreement[n] > ROUNDING;
        found->disagreement = fmax(found->disagreement, room->disagreement[n]);
    }
    qsort(ratios, (size_t)self->pairs, sizeof *ratios, compare);
    found->outside = (double)outside / (double)self->pairs;
    found->median = ratios[self->pairs / 2];
    found->p95 = ratios[self->pairs * 95 / 100];
    found->most = ratios[self->pairs - 1];
    return NADIR_OK;
}

static nadir_status test_all_midpoints(experiment_run *run, geometry_run *self)
{
    nadir_status status = NADIR_OK;
    geometry_midpoints room = {0};
    NADIR_NEW(run->context, room.separation, self->pairs);
    NADIR_NEW(run->context, room.distance, self->pairs);
    NADIR_NEW(run->context, room.disagreement, self->pairs);
    for (int k = 0; k < GEOMETRY_KINDS; k++) {
        NADIR_CHECK(experiment_progress(run, "midpoints of policies that differ in %d states", k + 1));
        NADIR_NEW(run->context, self->ratios[k], self->pairs);
        NADIR_CHECK(test_midpoints(run, self, k + 1, &room));
    }
cleanup:
    nadir_release(run->context, room.disagreement);
    nadir_release(run->context, room.distance);
    nadir_release(run->context, room.separation);
    return status;
}

static nadir_status write_midpoints(experiment_run *run, const geometry_run *self)
{
    experiment_csv csv;
    (void)experiment_csv_open(run, "midpoints",
                              "differing_states,pairs,outside_share,distance_median,distance_95,"
                              "distance_most,disagreement_most",
                              &csv);
    for (int k = 0; k < GEOMETRY_KINDS; k++) {
        const geometry_summary *found = &self->found[k];
        experiment_csv_integer(&csv, k + 1);
        experiment_csv_integer(&csv, found->pairs);
        experiment_csv_number(&csv, found->outside);
        experiment_csv_number(&csv, found->median);
        experiment_csv_number(&csv, found->p95);
        experiment_csv_number(&csv, found->most);
        experiment_csv_number(&csv, found->disagreement);
        experiment_csv_end_row(&csv);
    }
    return experiment_csv_close(&csv);
}

static nadir_status draw_midpoints(experiment_run *run, const geometry_run *self)
{
    enum { POINTS = 400 };
    static const int dashes[GEOMETRY_KINDS] = {1, 2, 4};
    static const char *const colours[GEOMETRY_KINDS] = {"#009e73", "#0072b2", "#d55e00"};
    experiment_plot plot;
    const nadir_status status = experiment_plot_open(run, "midpoints", 1000, 580, &plot);
    if (status != NADIR_OK) {
        return status;
    }
    experiment_csv csv;
    (void)experiment_csv_open(run, "midpoint-distances", "differing_states,distance,share_of_midpoints",
                              &csv);
    for (int k = 0; k < GEOMETRY_KINDS; k++) {
        fprintf(plot.script, "$kind%d << EOD\n", k);
        for (int i = 0; i <= POINTS; i++) {
            const int64_t place = (self->pairs - 1) * i / POINTS;
            const double share = (double)(place + 1) / (double)self->pairs;
            fprintf(plot.script, "%.9g %.9g\n", fmax(1e-17, self->ratios[k][place]), 100 * share);
            experiment_csv_integer(&csv, k + 1);
            experiment_csv_number(&csv, self->ratios[k][place]);
            experiment_csv_number(&csv, share);
            experiment_csv_end_row(&csv);
        }
        fputs("EOD\n", plot.script);
    }
    (void)experiment_csv_close(&csv); /* a failure is kept */
    experiment_plot_tens(&plot, 'x', -16, 0, 2);
    fputs("set logscale x\nset xrange [1e-17:1]\nset yrange [0:103]\n"
          "set xlabel 'distance of the midpoint from the set ÷ distance of the two points'\n"
          "set ylabel 'share of midpoints (%)'\n"
          "set title 'Midpoints of two policies: how many lie no further from {D^π H^π} than "
          "this'\n" EXPERIMENT_KEY_BELOW,
          plot.script);
    for (int k = 0; k < GEOMETRY_KINDS; k++) {
        fprintf(plot.script,
                "%s $kind%d using 1:2 with lines linewidth 3 linecolor rgb '%s' dashtype %d "
                "title 'policies differ in %d state%s'",
                k == 0 ? "plot" : ",", k, colours[k], dashes[k], k + 1, k == 0 ? "" : "s");
    }
    fputs("\n", plot.script);
    return experiment_plot_close(&plot);
}

/* ---------------------------------------------------------------------------------------------- report */

static void tell(experiment_run *run, const geometry_run *self)
{
    const geometry_summary *two = &self->found[1];
    const geometry_summary *three = &self->found[2];
    const int rank = rank_of(&self->moments);
    double total = 0;
    for (int c = 0; c < N; c++) {
        total += self->moments.variances[c];
    }
    double share[N];
    for (int c = 0; c < N; c++) {
        share[c] = self->moments.variances[c] / total;
    }
    const double first = 100 * share[0];
    const double third = 100 * (share[0] + share[1] + share[2]);
    experiment_show(
        run, "projections", 0,
        "Two of the planes below, where it is seen best: the white bay lies in the hull of the set, but "
        "no policy does.");
    experiment_show(run, "principal-planes", 1,
                    "How many of %lld policies fall into each cell, darker for more (logarithmic). Orange: "
                    "policies that are deterministic but in one state, which are straight segments of the "
                    "set. The hull of what they span is the hull of the set; where it is white, a convex "
                    "combination has no policy near.",
                    (long long)self->samples);
    experiment_show(run, "principal-space", 2,
                    "%d of the policies, from two sides; axes are discounted visits, from the mean.",
                    GEOMETRY_CLOUD);
    experiment_show(run, "random-planes", 3, "%d random planes.", GEOMETRY_RANDOM);
    experiment_show(run, "random-space", 4, "A random space of three dimensions, from two sides.");
    experiment_show(run, "components", -1,
                    "%d components are more than rounding; the first has %.1f %% of the variance, the first "
                    "three %.2f %%.",
                    rank, first, third);
    run->data = "midpoint-distances";
    experiment_show(run, "midpoints", -1,
                    "%lld pairs of random policies of each kind. A midpoint lies in the set exactly when "
                    "all its rows have the same policy; the distance is to the nearest point that a search "
                    "from several starts finds.",
                    (long long)self->pairs);
    experiment_table(run, "Midpoints of two random policies",
                     "states that differ|pairs|outside the set|median distance|95 %|largest");
    for (int k = 0; k < GEOMETRY_KINDS; k++) {
        const geometry_summary *found = &self->found[k];
        experiment_table_row(run, "%d|%lld|%.4g %%|%.2g|%.2g|%.2g", k + 1, (long long)found->pairs,
                             100 * found->outside, found->median, found->p95, found->most);
    }
    experiment_table_end(run);
    experiment_say(run,
                   "Distances are relative to that of the two points. A policy has S(A − 1) = 3 numbers, "
                   "so the set has 3 dimensions, but it spans %d: a convex set has as many dimensions "
                   "as it spans, so this one is not convex, whatever the pictures suggest.",
                   rank);
    experiment_finding(
        run, "Is {D^π H^π} convex?", "Its pictures strongly suggest that it is not; left open",
        experiment_text(run,
                        "It is not: the set has 3 dimensions and spans %d. Of the midpoints of %lld pairs of "
                        "policies that differ in one, two and three states %.4g, %.4g and %.4g %% lie "
                        "outside, in the last two cases by %.1g and %.1g of the distance of the two points "
                        "(medians), at most by %.2g",
                        rank, (long long)self->pairs, 100 * self->found[0].outside, 100 * two->outside,
                        100 * three->outside, two->median, three->median, fmax(two->most, three->most)),
        "Agrees, and counting dimensions proves it; but the segment between policies that differ in one "
        "state only lies in the set, and the first three components show nothing, so nearly flat it is.");
    experiment_finding(
        run, "Components of the 10 that the paper retains", "10",
        experiment_text(run,
                        "%d, with shares of the variance of %.1f, %.1f and %.1f %%, then "
                        "%.1e, %.1e, %.1e and %.1e",
                        rank, share[0] * 100, share[1] * 100, share[2] * 100, share[3], share[4], share[5],
                        share[6]),
        "The set lies in the hull of its A^S = 8 deterministic policies, which spans 7 "
        "dimensions; the components 8 to 10 are rounding. The order of draws behind the paper's seed "
        "42 is not recorded, so its kernel may be another.");
}

static nadir_status make_views(experiment_run *run, geometry_run *self)
{
    nadir_random random = geometry_stream(run->seed, -1);
    int v = 0;
    for (int x = 0; x < GEOMETRY_SHOWN; x++) {
        for (int y = x + 1; y < GEOMETRY_SHOWN; y++, v++) {
            memcpy(self->views[v].axes[0], self->moments.components + x * N, N * sizeof(double));
            memcpy(self->views[v].axes[1], self->moments.components + y * N, N * sizeof(double));
        }
    }
    for (; v < GEOMETRY_VIEWS; v++) {
        geometry_axes_draw(&random, 2, self->views[v].axes[0]);
    }
    geometry_axes_draw(&random, 3, self->space);
    for (v = 0; v < GEOMETRY_VIEWS; v++) {
        geometry_view_range(&self->model, self->moments.mean, &self->views[v]);
    }
    return geometry_views_fill(run->context, &self->model, run->seed, self->samples, self->moments.mean,
                               GEOMETRY_VIEWS, self->views);
}

static nadir_status run_geometry(experiment_run *run)
{
    nadir_status status = NADIR_OK;
    geometry_run *self = NULL;
    NADIR_NEW_ZERO(run->context, self, 1);
    NADIR_NEW_ZERO(run->context, self->views, GEOMETRY_VIEWS);
    self->samples = run->quick ? 400000 : 10000000;
    self->pairs = run->quick ? 4000 : 100000;
    geometry_model_make((uint32_t)run->seed, &self->model);
    NADIR_CHECK(experiment_progress(run, "covariance of %lld policies", (long long)self->samples));
    NADIR_CHECK(
        geometry_moments_compute(run->context, &self->model, run->seed, self->samples, &self->moments));
    NADIR_CHECK(experiment_progress(run, "densities of %lld policies", (long long)self->samples));
    NADIR_CHECK(make_views(run, self));
    NADIR_CHECK(test_all_midpoints(run, self));
    NADIR_CHECK(experiment_progress(run, "pictures"));
    NADIR_CHECK(write_components(run, self));
    NADIR_CHECK(write_midpoints(run, self));
    NADIR_CHECK(draw_components(run, self));
    NADIR_CHECK(draw_midpoints(run, self));
    NADIR_CHECK(geometry_draw_views(run, self, "projections", 2, 2, 2)); /* components 1 and 4, 1 and 5 */
    NADIR_CHECK(geometry_draw_views(run, self, "principal-planes", 0, GEOMETRY_PAIRS, 4));
    NADIR_CHECK(
        geometry_draw_views(run, self, "random-planes", GEOMETRY_PAIRS, GEOMETRY_RANDOM, GEOMETRY_RANDOM));
    NADIR_CHECK(geometry_draw_space(run, self, "principal-space", "component", self->moments.components));
    NADIR_CHECK(geometry_draw_space(run, self, "random-space", "axis", self->space));
    tell(run, self);
cleanup:
    for (int k = 0; self != NULL && k < GEOMETRY_KINDS; k++) {
        nadir_release(run->context, self->ratios[k]);
    }
    nadir_release(run->context, self != NULL ? self->views : NULL);
    nadir_release(run->context, self);
    return status;
}

const experiment experiment_geometry = {
    .name = "geometry",
    .title = "The geometry of {D^π H^π}",
    .about = "S = 3, A = 2, γ = 0.9; P drawn by NumPy's legacy generator from the seed (42, as in the paper) "
             "and normalised. Ten million random policies (quick: 400 000), uniform and normalised, are "
             "streamed twice: for the covariance of the 18 entries of D^π H^π with its principal components, "
             "and for densities along them and along random directions. Then the midpoints of 100 000 pairs "
             "of policies (quick: 4 000) that differ in one, two and all states are tested for membership.",
    .sources = sources,
    .run = run_geometry,
};
