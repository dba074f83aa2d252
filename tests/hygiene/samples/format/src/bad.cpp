int bad( int x ){ return x ; }
