(define (problem transport-2)
  (:domain transport)
  (:objects a b c d - place van bus - vehicle box1 box2 box3 - package none one two - number)
  (:init (road a b) (= (length a b) 4) (road b a) (= (length b a) 4) (road b c) (= (length b c) 7) (road c b)
         (= (length c b) 7) (road a d) (= (length a d) 2) (road d a) (= (length d a) 2) (more none one) (more
         one two) (at van d) (room van two) (at bus c) (room bus one) (at box1 a) (at box2 b) (at box3 c) (=
         (total-cost) 0))
  (:goal (and (at box1 c) (at box2 d) (at box3 a)))
  (:metric minimize (total-cost)))
