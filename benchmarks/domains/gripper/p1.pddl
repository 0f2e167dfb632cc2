(define (problem gripper-2)
  (:domain gripper)
  (:objects hall study ball1 ball2 left right)
  (:init (room hall) (room study) (ball ball1) (ball ball2) (hand left) (hand right) (robot-in hall) (in ball1
         hall) (in ball2 hall) (empty left) (empty right))
  (:goal (and (in ball1 study) (in ball2 study))))
