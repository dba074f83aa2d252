bool scales = node.is("Mul");
