/* styles.c: the table of colours and marks; see styles.h. */
#include "styles.h"

#include <string.h>

/* Marks of gnuplot: 1 plus, 2 cross, 3 star, 4 and 5 square, 6 and 7 circle, 8 and 9 triangle, 10 and 11
 * triangle downwards, 12 and 13 diamond; the odd ones are full. */
static const cli_style styles[] = {
    /* methods of robust evaluation, and of the norm over the cone */
    {"exact", "exact", "#000000", 7, 2},
    {"auto", "nadir (auto)", "#000000", 7, 1},
    {"newton", "Newton", "#0072b2", 5, 1},
    {"bisect", "bisection, exact F", "#56b4e9", 4, 1},
    {"best-response", "best response", "#117733", 8, 1},
    {"paper", "paper: Algorithms 1 and 2", "#d55e00", 9, 1},
    {"paper-reduced", "paper, states × states", "#a05000", 10, 4},
    {"slsqp", "SLSQP", "#009e73", 13, 1},
    {"slsqp-scaled", "SLSQP, scaled", "#44aa99", 12, 4},
    {"random-rank-one", "random rank-one kernels", "#cc79a7", 11, 1},
    {"random-kernel", "random kernels", "#e69f00", 6, 1},
    {"random-kernel-projected", "random kernels, projected", "#ddaa33", 2, 1},
    {"conservative", "conservative kernel iteration", "#882255", 3, 1},
    {"random", "random search", "#e69f00", 6, 1},
    {"spectral", "paper: Algorithm 2", "#d55e00", 9, 1},
    {"power", "nadir: projected power", "#0072b2", 5, 1},
    {"bound", "upper bound", "#888888", 1, 2},
    /* sets and domains */
    {"nonrect", "non-rectangular", "#0072b2", 5, 1},
    {"s", "s-rectangular", "#e69f00", 9, 1},
    {"sa", "sa-rectangular", "#882255", 7, 1},
    {"free", "free", "#d55e00", 9, 1},
    {"simplex", "simplex", "#0072b2", 5, 1},
    {"support", "support", "#009e73", 13, 1},
    /* parts */
    {"nominal", "nominal", "#888888", 6, 1},
    {"reference", "reference", "#888888", 1, 2},
};

const cli_style *cli_style_find(const char *name)
{
    static const cli_style unknown = {"", "", "#888888", 1, 1};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        if (strcmp(styles[i].name, name) == 0) {
            return &styles[i];
        }
    }
    return &unknown;
}
