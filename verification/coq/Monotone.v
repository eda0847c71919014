(* The divergence of a triple is an expectation of (1 - alpha e^Z1 - gamma e^Z2)_+ for Gaussian Z1, Z2; it grows with
   their covariance. Two arguments suffice, and neither uses a Gaussian identity: Jensen's inequality for added
   independent noise, and exchanging two independent copies for a larger correlation. *)

From Coq Require Import Reals Lra.
From DPADMM Require Import Integral.
Open Scope R_scope.

(* Given the two exponentials, factors w1, w2 of mean 1 can only raise the expectation. *)
Lemma noise_raises {W : Type} (E : integral W) (alpha gamma x1 x2 : R) (w1 w2 : W -> R) :
  expectation E -> intg E w1 -> intg E w2 -> int E w1 = 1 -> int E w2 = 1 ->
  pos (1 - alpha * x1 - gamma * x2) <= int E (fun w => pos (1 - alpha * (x1 * w1 w) - gamma * (x2 * w2 w))).
Proof.
  intros (H1 & E1) Hw1 Hw2 Ew1 Ew2.
  set (f := fun w => 1 * 1 + 1 * (- (alpha * x1) * w1 w + - (gamma * x2) * w2 w)).
  assert (Hl : intg E (fun w => - (alpha * x1) * w1 w + - (gamma * x2) * w2 w)) by now apply intg_lin.
  assert (Hf : intg E f) by (apply (intg_lin _ E 1 1 (fun _ => 1)); assumption).
  assert (Ef : int E f = 1 - alpha * x1 - gamma * x2).
  { unfold f. rewrite (int_lin _ E 1 1 (fun _ => 1)), (int_lin _ E), E1, Ew1, Ew2 by assumption. ring. }
  assert (Hp : intg E (fun w => pos (f w))) by now apply intg_pos.
  rewrite (int_ext E (fun w => pos (1 - alpha * (x1 * w1 w) - gamma * (x2 * w2 w))) (fun w => pos (f w))).
  - apply pos_least.
    + apply int_nonneg; [ assumption | intro; apply pos_nonneg ].
    + rewrite <- Ef. apply int_le; [ assumption.. | ]. intro; apply pos_ge.
  - eapply intg_ext; [ | exact Hp ]. intro w; unfold f; cbv beta. f_equal; ring.
  - intro w; unfold f. f_equal; ring.
Qed.

(** Settles: TRIPLES. Jensen: independent factors w1, w2 of mean 1 that multiply the two exponentials x1, x2 can only
    raise the expectation. *)
Theorem noise_raises_payoff :
  forall {V W : Type} (O : integral V) (E : integral W) (alpha gamma : R) (x1 x2 : V -> R) (w1 w2 : W -> R),
  expectation E -> intg E w1 -> intg E w2 -> int E w1 = 1 -> int E w2 = 1 ->
  let raised := fun v => int E (fun w => pos (1 - alpha * (x1 v * w1 w) - gamma * (x2 v * w2 w))) in
  intg O (fun v => pos (1 - alpha * x1 v - gamma * x2 v)) -> intg O raised ->
  int O (fun v => pos (1 - alpha * x1 v - gamma * x2 v)) <= int O raised.
Proof.
  intros V W O E alpha gamma x1 x2 w1 w2 HE H1 H2 E1 E2 raised I1 I2. apply int_le; [ assumption.. | ].
  intro v. now apply noise_raises.
Qed.

(** Settles: TRIPLES. The payoff is supermodular: moving two quantities in the same direction costs no less than moving
    them apart. *)
Theorem payoff_supermodular :
  forall a a' b b' : R, 0 <= (a - a') * (b - b') ->
  pos (1 - a - b') + pos (1 - a' - b) <= pos (1 - a - b) + pos (1 - a' - b').
Proof.
  assert (Main : forall a a' b b', a <= a' -> b <= b' ->
    pos (1 - a - b') + pos (1 - a' - b) <= pos (1 - a - b) + pos (1 - a' - b')).
  { intros a a' b b' Ha Hb. unfold pos, Rmax.
    destruct (Rle_dec 0 (1 - a - b')), (Rle_dec 0 (1 - a' - b)), (Rle_dec 0 (1 - a - b)), (Rle_dec 0 (1 - a' - b'));
      lra. }
  intros a a' b b' H.
  destruct (Rle_lt_dec a a') as [ Ha | Ha ], (Rle_lt_dec b b') as [ Hb | Hb ].
  - now apply Main.
  - destruct (Req_dec a a') as [ <- | ]; [ lra | ]. nra.
  - destruct (Req_dec b b') as [ <- | ]; [ lra | ]. nra.
  - pose proof (Main a' a b' b ltac:(lra) ltac:(lra)). lra.
Qed.

(** Settles: TRIPLES. Exchangeability: two independent copies n, m of one noise in place of one noise n for both can
    only lower the expectation of a payoff whose two quantities g1, g2 grow together. The two orders of integration must
    agree. *)
Theorem common_noise_raises_payoff :
  forall {N : Type} (E : integral N) (g1 g2 : N -> R),
  let F := fun n m => pos (1 - g1 n - g2 m) in
  expectation E -> (forall n m, 0 <= (g1 n - g1 m) * (g2 n - g2 m)) ->
  (forall n, intg E (fun m => F n m)) -> (forall n, intg E (fun m => F m n)) -> intg E (fun n => F n n) ->
  intg E (fun n => int E (fun m => F n m)) -> intg E (fun n => int E (fun m => F m n)) ->
  int E (fun n => int E (fun m => F n m)) = int E (fun n => int E (fun m => F m n)) ->
  int E (fun n => int E (fun m => F n m)) <= int E (fun n => F n n).
Proof.
  intros N E g1 g2 F HE Co H1 H2 Hd HA HB Fub. set (D := int E (fun n => F n n)).
  assert (Point : forall n, int E (fun m => F n m) + int E (fun m => F m n) <= F n n + D).
  { intro n. destruct (int_const E (F n n) HE) as (Hc & Ec).
    rewrite <- Ec. unfold D. rewrite <- !int_plus by auto.
    apply int_le; [ now apply intg_plus | now apply intg_plus | ]. intro m. apply payoff_supermodular, Co. }
  destruct (int_const E D HE) as (HD & ED).
  assert (Total : int E (fun n => int E (fun m => F n m) + int E (fun m => F m n)) <= int E (fun n => F n n + D)).
  { apply int_le; [ now apply intg_plus | now apply intg_plus | exact Point ]. }
  rewrite int_plus in Total by assumption. rewrite int_plus, ED in Total by assumption. fold D in Total. lra.
Qed.

(** Settles: TRIPLES. How a larger covariance s' splits off one noise: with e = (s' - s)/sqrt(S T), the rest has
    variances (1-e) S, (1-e) T and covariance s and is a covariance matrix; two independent noises of variances e S, e T
    give s back, one common noise gives s'. *)
Theorem covariance_split :
  forall S T s s' : R, 0 < S -> 0 < T -> 0 <= s <= s' -> s' <= sqrt (S * T) ->
  let e := (s' - s) / sqrt (S * T) in
  0 <= e <= 1 /\ s * s <= ((1 - e) * S) * ((1 - e) * T) /\
  (1 - e) * S + e * S = S /\ (1 - e) * T + e * T = T /\ s + sqrt (e * S) * sqrt (e * T) = s'.
Proof.
  intros S T s s' HS HT Hs Hs' e. assert (HST : 0 < S * T) by now apply Rmult_lt_0_compat.
  set (r := sqrt (S * T)) in *. assert (Hr : 0 < r) by now apply sqrt_lt_R0.
  assert (Er : r * r = S * T) by (apply sqrt_sqrt; lra).
  assert (Ee : e * r = s' - s) by (unfold e; field; lra).
  assert (He : 0 <= e <= 1) by (split; apply Rmult_le_reg_r with r; lra).
  repeat split; try apply He; try ring.
  - replace ((1 - e) * S * ((1 - e) * T)) with (((1 - e) * r) * ((1 - e) * r)) by (rewrite <- (Rmult_assoc _ (1 - e));
      nra).
    apply Rmult_le_compat; try lra; nra.
  - rewrite <- sqrt_mult by (apply Rmult_le_pos; lra).
    replace (e * S * (e * T)) with ((e * r) * (e * r)) by nra. rewrite sqrt_square; lra.
Qed.

(** Settles: TRIPLES. The box rule: of a non-obtuse triangle with squared sides A, B, R (A and B meeting at the
    exchanged record) in a box A <= A', B <= B', R >= R', the covariance (A + B - R)/2 lies between 0 and the least of
    (A' + B' - R')/2, A' and B', which is one of a covariance matrix. *)
Theorem box_rule :
  forall A B R A' B' R' : R, 0 <= A -> 0 <= B ->
  R <= A + B -> B <= A + R -> A <= B + R -> A <= A' -> B <= B' -> R' <= R ->
  let s := Rmin ((A' + B' - R') / 2) (Rmin A' B') in
  0 <= (A + B - R) / 2 <= s /\ s * s <= A' * B'.
Proof.
  intros A B R A' B' R' HA HB H1 H2 H3 H4 H5 H6 s.
  assert (L : (A + B - R) / 2 <= s) by (repeat apply Rmin_glb; lra).
  assert (s <= Rmin A' B') by apply Rmin_r. pose proof (Rmin_l A' B'). pose proof (Rmin_r A' B').
  repeat split; try lra. apply Rmult_le_compat; lra.
Qed.
