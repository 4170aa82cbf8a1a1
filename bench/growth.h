/* growth.h: how a cost grows with the size of a model, as a number and as a picture. */
#ifndef NADIR_BENCH_GROWTH_H
#define NADIR_BENCH_GROWTH_H

enum { GROWN_SIZES = 6, GROWN_KINDS = 4 }; /* kinds: v, free, support, optimise */

/* What grows: of each question and size, seconds and entries read. */
typedef struct grown {
    int count; /* of sizes */
    double transitions[GROWN_SIZES];
    double seconds[GROWN_KINDS][GROWN_SIZES];
    double entries[GROWN_KINDS][GROWN_SIZES];
} grown;

/* The slope of log y over log x, from size `from` on. */
double bench_exponent(const grown *all, int from, const double *y);

/* Two panels for each family, by gnuplot. */
void bench_draw_growth(const char *path, int count, const char *const *families, const grown *all);

#endif
