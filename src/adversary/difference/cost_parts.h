/* cost_parts.h: what the files of costs.h share. For this folder alone. */
#ifndef NADIR_ADVERSARY_COST_PARTS_H
#define NADIR_ADVERSARY_COST_PARTS_H

#include "adversary/difference/cost_row.h"
#include "adversary/rows/lmo_row_costs.h"

/* Room for `threads` threads, all in two blocks. */
typedef struct nadir_cost_rooms {
    int threads;
    nadir_cost_room *rooms; /* [threads] */
    double *numbers;
    int32_t *places;
} nadir_cost_rooms;

/* Reads a row into room->row; false: it is pinned. */
bool nadir_cost_row_fill(const nadir_lmo_row_costs *costs, int64_t row, nadir_cost_room *room);
/* The same; false: moreover, it does not matter. */
bool nadir_cost_row_read(const nadir_lmo_row_costs *costs, int64_t row, nadir_cost_room *room);

/* No rows are changed. */
void nadir_lmo_row_costs_begin(nadir_lmo_row_costs *costs);
/* Appends room->X to the changed rows, and what it gains. */
nadir_status nadir_lmo_row_costs_append(nadir_context *context, nadir_lmo_row_costs *costs, int64_t row,
                                        const nadir_cost_room *room);

/* Rows first .. end - 1 that share a radius. */
typedef struct nadir_cost_group {
    int64_t first, end;
    double radius;
} nadir_cost_group;

/* The group that begins at this row; the first begins at row 0. */
nadir_cost_group nadir_cost_group_at(const nadir_lmo_row_costs *costs, int64_t row);

/* Steps and shares of a group: X is (1 - share) of the answer at `low` and the rest at `high`. */
typedef struct nadir_cost_shared {
    double low, high, share;
    bool active; /* the radius matters */
} nadir_cost_shared;

/* Domains simplex and support, p < inf. */
nadir_cost_shared nadir_cost_group_solve(const nadir_lmo_row_costs *costs, const nadir_cost_group *group);

#endif
