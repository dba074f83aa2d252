bool keeps = node.is("Relu") || next->is("Clip");
bool sums = node.op_type == "Add";
