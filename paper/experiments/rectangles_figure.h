/* rectangles_figure.h: what the files of the experiment `rectangular-sets` share. */
#ifndef NADIR_PAPER_RECTANGLES_FIGURE_H
#define NADIR_PAPER_RECTANGLES_FIGURE_H

#include "experiment.h"
#include "rectangles.h"

#define RECTANGLES_CONFIDENCE 0.95

/* What a picture of the sets shows. */
typedef struct rectangles_picture {
    double radius;                 /* of the ball that holds the kernel with 95 % chance */
    double held[RECTANGLES_SETS];  /* chance that the smallest sets around it hold it */
    double nominal;                /* returns: of the plane alone */
    double worst[RECTANGLES_SETS]; /* sets s and sa are the same there: worst[1] is not set */
} rectangles_picture;

/* Each draws a picture, and writes its dots: balls-plane, balls-space, balls-union. */
nadir_status rectangles_draw_plane(experiment_run *run, rectangles_picture *picture);
nadir_status rectangles_draw_space(experiment_run *run, rectangles_picture *picture);
nadir_status rectangles_draw_union(experiment_run *run);

#endif
