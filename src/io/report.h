/*
 * report.h: a page about one problem: what is found for it (report_find.c), and how it is shown (report_page.c,
 * report_chart.c, report_text.c; report.css and report.js go with the page).
 *
 * Numbers are those of the commands that the page shows: of the marked radius as nadir_solver_robust and
 * nadir_robust_optimum give them, of the curves as nadir_solver_robust_many does.
 */
#ifndef NADIR_IO_REPORT_H
#define NADIR_IO_REPORT_H

#include "core/context.h"
#include "core/file.h"
#include "model/model.h"

enum {
    NADIR_REPORT_ATTACKS = 10, /* rows of a table of attacks */
    NADIR_REPORT_STATES = 200, /* states of a table of policies */
    NADIR_REPORT_MISSING = 16
};

/* A policy against one ball, and who does the damage. */
typedef struct nadir_report_case {
    nadir_robust robust; /* stop_reason NULL: not known */
    int64_t listed;      /* of the attacks; 0: none, or not known */
    int64_t changed;     /* rows */
    nadir_damage attacks[NADIR_REPORT_ATTACKS];
} nadir_report_case;

typedef struct nadir_report_point {
    double radius;
    double step;              /* the same as the curve has it, up to rounding; NaN: the curve does without */
    nadir_report_case policy; /* the policy of the report */
    nadir_report_case best;   /* the policy that does best in the worst case of this radius */
    nadir_robust_optimum_result optimum; /* of that */
    nadir_policy *best_policy;           /* owned; NULL: not known */
    nadir_robust kept;                   /* the best policy of the marked radius, at this one */
} nadir_report_point;

typedef struct nadir_report {
    nadir_context *context;
    nadir_model *model;
    nadir_model_data view;
    nadir_report_settings settings;
    nadir_ball ball;     /* set, domain, norm, scales; the radius of `mark` */
    double *radius;      /* [ball.radius_count] owned: of the ball at hand */
    const double *shape; /* [ball.radius_count] as asked for */
    double own;          /* the radius that stands for a missing one */
    bool example;        /* nobody has named a radius */
    const nadir_policy *policy;
    nadir_policy *made; /* owned: the nominal optimum, where no policy was given */
    nadir_optimum_result optimum;
    nadir_nominal nominal;
    double *visits; /* [states] owned: share of the (discounted) time that the policy spends in each */
    int64_t count;  /* of points */
    int64_t mark;
    nadir_report_point *points; /* [count] owned, by rising radius */
    /* The policy and the best one of the marked radius against the three sets. */
    nadir_robust sets[2][3];
    int64_t missing_count;
    char missing[NADIR_REPORT_MISSING][160]; /* what was left out, and why */
    bool time_ran_out;
} nadir_report;

/* Where neither question nor model names a domain. */
nadir_domain nadir_report_usual_domain(const nadir_report *report);

/* What the page shows. Afterwards the report is to be cleared, also on failure. */
nadir_status nadir_report_find(nadir_report *report);
void nadir_report_clear(nadir_report *report);

/* The page. */
void nadir_report_page(const nadir_report *report, nadir_output *output);
/* The risk curves, `width` points wide. */
void nadir_report_chart(const nadir_report *report, double width, nadir_output *output);

/* ---- Text ---- */

/* Text from elsewhere, made harmless: at most `limit` characters, then an ellipsis. */
void nadir_report_text(nadir_output *output, const char *text, int64_t limit);
/* All of its first bytes. */
void nadir_report_line(nadir_output *output, const char *text, int64_t bytes);
/* As a string of JSON within a page. */
void nadir_report_json_text(nadir_output *output, const char *text);
/* Five significant digits: the nearest (side 0), not below (1) or not above the value (-1). */
const char *nadir_report_short(double value, int side, char text[32]);
/* A number of a sentence, in bold; and of a table, with all its digits for the CSV. */
void nadir_report_number(nadir_output *output, double value, int side);
void nadir_report_cell(nadir_output *output, double value, int side);
/* "34 %"; of 0.34. */
const char *nadir_report_percent(double share, char text[32]);
/* By name, else "state 3", "action 1"; -1: nothing. */
void nadir_report_state(const nadir_report *report, int64_t state, nadir_output *output);
void nadir_report_action(const nadir_report *report, int64_t row, nadir_output *output);
void nadir_report_policy_name(const nadir_report *report, nadir_output *output);

#endif
