/* op_name.h: how the names of ops begin that are not in op_list.h. */
#ifndef ASSAY_OP_OP_NAME_H
#define ASSAY_OP_OP_NAME_H

#define ASSAY_MODEL_PREFIX "model:"       /* model/model.h */
#define ASSAY_WORKLOAD_PREFIX "workload:" /* workload/workload.h */

/* The name that people know it by: without the above. Points into `op`. */
const char *assay_op_shown(const char *op);

#endif
