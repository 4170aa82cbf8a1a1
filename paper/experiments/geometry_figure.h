/* geometry_figure.h: what the files of the experiment `geometry` share. */
#ifndef NADIR_PAPER_GEOMETRY_FIGURE_H
#define NADIR_PAPER_GEOMETRY_FIGURE_H

#include "experiment.h"
#include "geometry.h"

enum {
    GEOMETRY_SHOWN = 5,                                         /* principal components in densities */
    GEOMETRY_PAIRS = GEOMETRY_SHOWN * (GEOMETRY_SHOWN - 1) / 2, /* of them */
    GEOMETRY_RANDOM = 4,                                        /* random planes */
    GEOMETRY_VIEWS = GEOMETRY_PAIRS + GEOMETRY_RANDOM,
    GEOMETRY_CLOUD = 3000, /* points of a picture in three dimensions */
    GEOMETRY_KINDS = 3     /* how many states pairs of policies differ in: 1, 2, 3 */
};

/* Of the midpoints of one kind of pairs. */
typedef struct geometry_summary {
    int64_t pairs;
    double outside;           /* share whose rows have different policies, beyond rounding */
    double median, p95, most; /* distance over separation */
    double disagreement;      /* the most */
} geometry_summary;

typedef struct geometry_run {
    int64_t samples, pairs;
    geometry_model model;
    geometry_moments moments;
    geometry_view *views;               /* [GEOMETRY_VIEWS] */
    double space[3 * GEOMETRY_ENTRIES]; /* random axes */
    geometry_summary found[GEOMETRY_KINDS];
    double *ratios[GEOMETRY_KINDS]; /* [pairs] rising */
} geometry_run;

/* The densities of `count` views from the first on: stem.csv and a picture with so many columns. */
nadir_status geometry_draw_views(experiment_run *run, const geometry_run *self, const char *stem, int first,
                                 int count, int columns);
/* Some points along three axes [3 * GEOMETRY_ENTRIES], from two sides: stem.csv and a picture. */
nadir_status geometry_draw_space(experiment_run *run, const geometry_run *self, const char *stem,
                                 const char *label, const double *axes);

#endif
