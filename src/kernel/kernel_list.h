/* One line for each kernel; of one implementation the order does not matter (see `preference`). The
 * `ref` kernel of every op comes from op_list.h and needs no line here. No include guard. */
